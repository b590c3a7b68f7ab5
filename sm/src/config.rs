use heddle_engines::Engine;
use heddle_mad::exchange::Limits;
use std::time::Duration;

/// What an operator can set. The defaults are OpenSM's where it has the same setting.
#[derive(Clone, Debug)]
pub struct Config {
    /// Engines to try, in order. The tables of the first whose result is proven are programmed; there is no other fallback.
    pub engines: Vec<Engine>,
    /// Time between looks at the switches' change bits while nothing happens.
    pub sweep_interval: Duration,
    /// The subnet's GID prefix.
    pub subnet_prefix: u64,
    /// This subnet manager's priority, 0 to 15, as told to others that ask.
    pub priority: u8,
    /// How many requests are under way, and how long an answer may take.
    pub limits: Limits,
    /// Only look: nothing is written, and the run ends with what was found.
    pub read_only: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            engines: vec![Engine::UpDown],
            sweep_interval: Duration::from_secs(10),
            subnet_prefix: 0xfe80_0000_0000_0000,
            priority: 0,
            limits: Limits::default(),
            read_only: false,
        }
    }
}
