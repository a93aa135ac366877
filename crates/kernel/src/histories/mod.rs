//! Random histories of whole sessions, and every invariant of the kernel after each step.
//!
//! A history is made from its seed alone; a failure names the seed.

mod asks;
mod audit;
mod checks;
mod drain;
mod fleets;
mod hooks;
mod mails;
mod modes;
mod outside;
mod rng;
mod run_turns;
mod runs;
mod simulated_session;
mod starts;
mod trees;

use std::collections::BTreeSet;

use protocol::LogEntry;
use simulated_session::SimulatedSession;

const STEPS: usize = 80;

/// How many histories are tried: 100,000, unless `HISTORIES` asks for fewer, as mutation testing does.
#[expect(clippy::disallowed_methods, reason = "a setting of this test alone")]
fn histories() -> u64 {
    std::env::var("HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(100_000)
}

/// Runs one history: random steps under random limits, then an orderly end.
fn history(seed: u64) {
    let mut world = SimulatedSession::new(seed);
    for _ in 0..STEPS {
        world.step();
    }
    world.drain();
    checks::at_rest(&world.kernel);
}

/// Runs histories on every processor, and names the seed of one that fails.
fn in_parallel(seeds: std::ops::Range<u64>, history: fn(u64)) {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get() as u64);
    let named = |seed| {
        if let Err(panic) = std::panic::catch_unwind(|| history(seed)) {
            eprintln!("history {seed} broke an invariant");
            std::panic::resume_unwind(panic);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seeds = seeds.clone();
            scope.spawn(move || seeds.filter(|seed| seed % threads == thread).for_each(named));
        }
    });
}

#[test]
fn every_invariant_holds_over_random_histories() {
    in_parallel(0..histories(), history);
}

#[test]
fn histories_come_to_every_event_and_to_every_limit() {
    let (mut events, mut refusals) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..1_000 {
        let mut world = SimulatedSession::new(seed);
        (0..STEPS).for_each(|_| world.step());
        let kind = |entry: &LogEntry| serde_json::to_value(&entry.event).unwrap()["type"].to_string();
        events.extend(world.log.iter().map(kind));
        refusals.extend(world.refusals);
    }
    // All but what a newer version wrote, and what says that another model answered.
    assert_eq!(events.len(), 45, "{events:?}");
    let limits = [
        "Budget",
        "BudgetHeld",
        "Depth",
        "StopBlockLimit",
        "Rate",
        "Total",
        "Turns",
        "WrappedUp",
        "NoObjective",
        "Closing",
    ];
    let states = ["Closed", "Ended", "MailWaiting", "NoSlot", "NotAwaited", "NotRootChild", "Stopping", "WaitCycle"];
    for refusal in limits.into_iter().chain(states) {
        assert!(refusals.contains(refusal), "nothing was refused as {refusal}: {refusals:?}");
    }
}
