//! The command tests itself; the suite runs that test at length.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::binary::BinaryFixture;

use crate::{BOSUN, stage};

/// Runs the self-test, which must find nothing.
#[track_caller]
fn passes(stage: &BinaryFixture, options: &[&str]) -> Value {
    let ended = stage.bosun(["selftest", "--chaos", "--json"]).args(options).run().expect(0);
    let told = ended.json();
    assert_eq!(told["ok"], true, "{}", ended.stderr);
    for figure in ["lost", "wrongDeliveries", "repeatedTurns", "repeatedCalls", "strays", "unpaired", "untrue"] {
        assert_eq!(told["total"][figure], 0, "{figure}: {}", ended.stderr);
    }
    told
}

#[test]
fn fifty_agents_survive_thirty_seeds_of_kills() {
    let told = passes(&stage(), &["--runs", "30", "--seed", "1000"]);
    assert_eq!((told["total"]["runs"].as_u64(), told["total"]["agents"].as_u64()), (Some(30), Some(1500)));
    assert!(told["total"]["kills"].as_u64().unwrap() >= 30, "{}", told["total"]);
}

#[test]
fn a_kill_before_or_after_any_kind_of_event_loses_nothing() {
    let told = passes(&stage(), &["--events", "--agents", "10", "--seed", "1"]);
    // Where a commit holds several of a kind, a later one may not be reached.
    let killed = |run: &&Value| run["killed"].as_u64().unwrap() as usize == run["kills"].as_array().unwrap().len();
    let hit: BTreeSet<&str> = told["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(killed)
        .filter_map(|run| run["kills"].as_array()?.last()?.as_str())
        .collect();
    for kind in [
        "sessionOpened",
        "sessionAdopted",
        "agentDefined",
        "taskCreated",
        "taskInterrupted",
        "taskRequeued",
        "slotRegained",
        "cancelRequested",
        "taskFinished",
        "activationStarted",
        "activationEnded",
        "startHooksRan",
        "stopHooksRan",
        "mailAdmitted",
        "mailDelivered",
        "turnBegun",
        "turnAnswered",
        "callStarted",
        "callAnswered",
        "toolsLoaded",
        "waitBegan",
        "waitEnded",
        "intentReported",
    ] {
        for side in ["before", "after"] {
            assert!(hit.contains(&*format!("{side} {kind} 1")), "{side} {kind}: {hit:?}");
        }
    }
}

#[test]
fn an_ordinary_user_can_run_the_self_test() {
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    let ended = stage.bosun(["selftest", "--chaos", "--runs", "1", "--agents", "10", "--seed", "3"]).run().expect(0);
    assert!(ended.stdout.ends_with("nothing was lost or done twice.\n"), "{}", ended.stdout);
    assert!(ended.stderr.contains("ok  seed 3"), "{}", ended.stderr);
    assert!(stage.sessions().is_empty(), "the user's own home is left alone");
}
