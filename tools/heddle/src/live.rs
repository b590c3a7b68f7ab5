//! A subnet manager on a transport, until somebody has enough.

use anyhow::Context;
use heddle_mad::Time;
use heddle_mad::transport::Transport;
use heddle_sm::{Config, Event, SubnetManager};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a transport's time runs.
pub(crate) enum Pace {
    /// As the machine's.
    Machine,
    /// From one thing that happens straight to the next.
    Virtual,
    /// As virtual time, but waiting for the machine's: for somebody who watches.
    Slowed { virtual_start: Time, start: Instant },
}

/// A signal is noticed within this time.
const GLANCE: Duration = Duration::from_millis(100);

impl Pace {
    pub(crate) fn slowed(virtual_start: Time) -> Self {
        Self::Slowed { virtual_start, start: Instant::now() }
    }

    /// Until when a transport may wait for a datagram.
    fn deadline(&self, now: Time, wanted: Option<Time>) -> Option<Time> {
        match self {
            Self::Machine | Self::Slowed { .. } => Some(wanted.map_or(now + GLANCE, |wanted| wanted.min(now + GLANCE))),
            Self::Virtual => wanted,
        }
    }

    /// Waits until the machine's time has come as far as virtual time.
    fn wait(&self, now: Time, stop: &AtomicBool) {
        let Self::Slowed { virtual_start, start } = self else { return };
        while !stop.load(Ordering::Relaxed) {
            let ahead = now.since(*virtual_start).saturating_sub(start.elapsed());
            if ahead.is_zero() {
                return;
            }
            std::thread::sleep(ahead.min(GLANCE));
        }
    }
}

/// Runs a subnet manager until `watch` gives an end, or (`None`) until SIGINT or SIGTERM; a second one ends the program at once.
///
/// `watch` is told every event, and nothing whenever there is none left.
pub(crate) fn run<T>(
    config: Config,
    transport: &mut dyn Transport,
    pace: Pace,
    mut watch: impl FnMut(Time, Option<&Event>) -> anyhow::Result<Option<T>>,
) -> anyhow::Result<Option<T>> {
    let stop = signals()?;
    let mut sm = SubnetManager::new(config, transport.now());
    while !stop.load(Ordering::Relaxed) {
        let now = transport.now();
        sm.handle_timeout(now);
        while let Some(envelope) = sm.poll_transmit(now) {
            transport.send(&envelope)?;
        }
        while let Some(event) = sm.poll_event() {
            if let Some(end) = watch(now, Some(&event))? {
                return Ok(Some(end));
            }
        }
        if let Some(end) = watch(now, None)? {
            return Ok(Some(end));
        }
        if let Some(delivery) = transport.receive(pace.deadline(now, sm.poll_timeout()))? {
            sm.handle(transport.now(), delivery);
        }
        pace.wait(transport.now(), &stop);
    }
    Ok(None)
}

/// Set by SIGINT or SIGTERM, which no longer end the program; a second one does, at once.
pub(crate) fn signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop)).context("cannot watch for signals")?;
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot watch for signals")?;
    }
    Ok(stop)
}
