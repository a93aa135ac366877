//! Random histories of whole sessions, and every invariant of the kernel after each step.
//!
//! A history is made from its seed alone; a failure names the seed, and `replay_one` runs it again.

mod asks;
mod audit;
mod world;

use crate::Limits;
use audit::Audit;
use world::World;

const STEPS: usize = 60;

/// How many histories are tried: 100,000, unless `HISTORIES` asks for fewer, as mutation testing does.
#[expect(clippy::disallowed_methods, reason = "a setting of this test alone")]
fn histories() -> u64 {
    std::env::var("HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(100_000)
}

/// Runs one history: random steps under random limits, then an orderly end.
fn history(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.step();
    }
    world.drain();
    Audit::at_rest(&world);
}

fn in_parallel(seeds: std::ops::Range<u64>) {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get() as u64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seeds = seeds.clone();
            scope.spawn(move || seeds.filter(|seed| seed % threads == thread).for_each(named));
        }
    });
}

/// Runs a history and names its seed when it fails.
fn named(seed: u64) {
    if let Err(panic) = std::panic::catch_unwind(|| history(seed)) {
        eprintln!("history {seed} broke an invariant");
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn every_invariant_holds_over_random_histories() {
    in_parallel(0..histories());
}

#[test]
fn a_live_cap_of_one_never_deadlocks_a_deep_chain() {
    for seed in 0..2_000 {
        let mut world = World::with_limits(seed, Limits { live: 1, depth: 4, total: 40, ..Limits::default() });
        world.chain(4);
        world.drain();
        Audit::at_rest(&world);
    }
}
