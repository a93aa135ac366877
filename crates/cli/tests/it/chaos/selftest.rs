//! Longer runs of `bosun selftest`.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::binary::BinaryFixture;

use crate::{BOSUN, fixture};

/// Runs the self-test, which must find no faults.
#[track_caller]
fn passes(fixture: &BinaryFixture, options: &[&str]) -> Value {
    let ended = fixture.bosun(["selftest", "--chaos", "--json"]).args(options).run().expect(0);
    let output = ended.json();
    assert_eq!(output["ok"], true, "{}", ended.stderr);
    for figure in ["lost", "wrongDeliveries", "repeatedTurns", "repeatedCalls", "strays", "unpaired", "untrue"] {
        assert_eq!(output["total"][figure], 0, "{figure}: {}", ended.stderr);
    }
    output
}

#[test]
fn fifty_agents_survive_thirty_seeds_of_kills() {
    let output = passes(&fixture(), &["--runs", "30", "--seed", "1000"]);
    assert_eq!((output["total"]["runs"].as_u64(), output["total"]["agents"].as_u64()), (Some(30), Some(1500)));
    assert!(output["total"]["kills"].as_u64().unwrap() >= 30, "{}", output["total"]);
}

#[test]
fn kill_before_or_after_any_event_kind_loses_nothing() {
    let output = passes(&fixture(), &["--events", "--agents", "10", "--seed", "1"]);
    // If a commit holds several events of a kind, a later kill point may not be reached.
    let killed = |run: &&Value| run["killed"].as_u64().unwrap() as usize == run["kills"].as_array().unwrap().len();
    let hit: BTreeSet<&str> = output["runs"]
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
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let ended = fixture.bosun(["selftest", "--chaos", "--runs", "1", "--agents", "10", "--seed", "3"]).run().expect(0);
    assert!(ended.stdout.ends_with("nothing was lost or done twice.\n"), "{}", ended.stdout);
    assert!(ended.stderr.contains("ok  seed 3"), "{}", ended.stderr);
    assert!(fixture.sessions().is_empty(), "the user's own home is left alone");
}
