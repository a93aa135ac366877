//! Tests with random histories of whole sessions. After each step, every invariant of the kernel is checked.
//!
//! A history depends only on its seed; a failure names the seed.

mod asks;
mod audit;
mod checks;
mod coverage;
mod drain;
mod external_tasks;
mod fleets;
mod hooks;
mod mails;
mod mcp_tasks;
mod modes;
mod outside;
mod rng;
mod run_turns;
mod runs;
mod simulated_session;
mod starts;
mod trees;

use std::collections::BTreeSet;

use simulated_session::SimulatedSession;

const STEPS_PER_HISTORY: usize = 80;

/// How many histories are tried: 100,000, unless the variable `HISTORIES` is set, as in mutation testing.
#[expect(clippy::disallowed_methods, reason = "a setting of this test alone")]
fn history_count() -> u64 {
    std::env::var("HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(100_000)
}

/// Runs one history: random steps under random limits, then an orderly end.
fn run_history(seed: u64) {
    let mut session = SimulatedSession::new(seed);
    for _ in 0..STEPS_PER_HISTORY {
        session.step();
    }
    session.drain();
    checks::assert_at_rest(&session.kernel);
}

/// Runs histories on every processor, and prints the seed of one that fails.
fn in_parallel(seeds: std::ops::Range<u64>, history: fn(u64)) {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get() as u64);
    let run_and_name = |seed| {
        if let Err(panic) = std::panic::catch_unwind(|| history(seed)) {
            eprintln!("history {seed} broke an invariant");
            std::panic::resume_unwind(panic);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seeds = seeds.clone();
            scope.spawn(move || seeds.filter(|seed| seed % threads == thread).for_each(run_and_name));
        }
    });
}

#[test]
fn every_invariant_holds_over_random_histories() {
    in_parallel(0..history_count(), run_history);
}

#[test]
fn histories_reach_every_limit() {
    let mut refusals = BTreeSet::new();
    for seed in 0..1_000 {
        let mut session = SimulatedSession::new(seed);
        (0..STEPS_PER_HISTORY).for_each(|_| session.step());
        refusals.extend(session.refusals);
    }
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
        "ObjectiveOver",
    ];
    let states = ["Closed", "Ended", "MailWaiting", "NoSlot", "NotAwaited", "NotRootChild", "Stopping", "WaitCycle"];
    for refusal in limits.into_iter().chain(states) {
        assert!(refusals.contains(refusal), "{refusal} never occurred: {refusals:?}");
    }
}
