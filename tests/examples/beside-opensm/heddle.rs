//! One of Heddle's engines on one fabric, in a process of its own.

use heddle_engines::{Engine, Options, route};
use heddle_verify::{patterns, quality, verify};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

/// The first argument of the process that measures.
pub(crate) const CHILD: &str = "--measure";

/// What came of an engine.
pub(crate) struct Measured {
    pub(crate) route_ms: f64,
    pub(crate) proof_ms: f64,
    pub(crate) peak_mib: u64,
    /// On which its tables are free of deadlock; 0 if they are not.
    pub(crate) vls: u64,
    pub(crate) bisection: f64,
    pub(crate) shift: f64,
    pub(crate) shift_contention: u64,
    /// That of the busiest link over the mean.
    pub(crate) load: f64,
}

/// Measures an engine on a fabric, with so many VLs allowed.
///
/// # Errors
/// What it says instead of tables.
pub(crate) fn run(spec: &str, (engine, vls): (&str, u8)) -> Result<Measured, String> {
    let own = std::env::current_exe().expect("a program is a file");
    let output = Command::new(own).args([CHILD, spec, engine, &vls.to_string()]).output().expect("it starts again");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let float = |name: &str| said[name].as_f64().unwrap_or_default();
    let whole = |name: &str| said[name].as_u64().unwrap_or_default();
    Ok(Measured {
        route_ms: float("route_ms"),
        proof_ms: float("proof_ms"),
        peak_mib: whole("peak_mib"),
        vls: whole("vls"),
        bisection: float("bisection"),
        shift: float("shift"),
        shift_contention: whole("shift_contention"),
        load: float("load"),
    })
}

/// The best of twenty runs, or of as many as ten seconds hold, as is usual where other load can only add.
const RUNS: usize = 20;
const LASTS: Duration = Duration::from_secs(10);

/// The process that measures: `FABRIC ENGINE VLS`.
pub(crate) fn measure(arguments: &[String]) -> Result<(), String> {
    let [spec, engine, vls] = arguments else { return Err(format!("{CHILD} FABRIC ENGINE VLS")) };
    let fabric = super::fabric(spec);
    let engine: Engine = engine.parse().map_err(|error| format!("{error}"))?;
    let options = Options { max_vls: vls.parse().map_err(|error| format!("{vls}: {error}"))?, ..Options::default() };
    let (began, mut best, mut last) = (Instant::now(), (Duration::MAX, Duration::ZERO, Duration::ZERO), None);
    for _ in 0..RUNS {
        drop(last.take());
        let start = Instant::now();
        let tables = route(engine, &fabric, &options).map_err(|refusal| refusal.display(&fabric).to_string())?;
        let routed = start.elapsed();
        let report = verify(&fabric, &tables);
        let both = start.elapsed();
        best = best.min((both, routed, both.checked_sub(routed).unwrap_or_default()));
        last = Some((tables, report));
        if began.elapsed() > LASTS {
            break;
        }
    }
    let (tables, report) = last.expect("at least one run");
    if !report.connected() || !report.loop_free() {
        return Err(report.to_string());
    }
    let peak_kib = peak_kib();
    let (quality, patterns) = (quality(&fabric, &tables), patterns(&fabric, &tables, super::EFFORT).ok_or("no two hosts")?);
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let said = json!({
        "route_ms": ms(best.1), "proof_ms": ms(best.2), "peak_mib": peak_kib / 1024,
        "vls": if report.deadlock_free() { report.vls() } else { 0 },
        "bisection": patterns.bisection, "shift": patterns.shift, "shift_contention": patterns.shift_contention,
        "load": quality.max_link_load as f64 / quality.mean_link_load,
    });
    println!("{said}");
    Ok(())
}

/// The most memory that this process ever had, the fabric included.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
