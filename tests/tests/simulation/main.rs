//! The whole system from a seed: a random fabric, and random things that happen to it while the subnet manager works on it.
//!
//! A run is decided by its seed alone. After every few happenings, and at the end when everything is whole again, checks that know
//! nothing of the subnet manager ask the emulated hardware whether all is as it should be. A failure prints its seed;
//! `HEDDLE_SEED=7` repeats one run, `HEDDLE_SEED=0..1000` many.

mod checks;
mod random;
mod script;
mod site;
mod world;

use std::ops::Range;
use std::panic::catch_unwind;
use std::time::{SystemTime, UNIX_EPOCH};

/// Runs these seeds, or those of the environment, and tells of all that fail.
fn run(seeds: Range<u64>) {
    let failed: Vec<u64> = seeds.filter(|&seed| catch_unwind(|| world::run(seed)).inspect_err(|_| tell(seed)).is_err()).collect();
    assert!(failed.is_empty(), "seeds {failed:?} fail");
}

fn tell(seed: u64) {
    eprintln!("^ seed {seed}; to repeat: HEDDLE_SEED={seed} cargo test -p heddle-tests --test simulation chosen -- --nocapture\n");
}

#[test]
fn chosen_seeds() {
    let chosen = match std::env::var("HEDDLE_SEED") {
        Ok(chosen) => chosen,
        Err(_) => "0..200".to_owned(),
    };
    let number = |text: &str| text.parse::<u64>().expect("HEDDLE_SEED is a number, or two with .. between");
    match chosen.split_once("..") {
        Some((from, to)) => run(number(from)..number(to)),
        None => run(number(&chosen)..number(&chosen) + 1),
    }
}

#[test]
fn fresh_seeds() {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let first = (clock ^ u64::from(std::process::id()) << 40) >> 8;
    run(first..first + 50);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in (0..200).step_by(20) {
        let (one, other) = (world::run(seed), world::run(seed));
        let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert!(one == other, "seed {seed}: {differs:?}");
    }
}
