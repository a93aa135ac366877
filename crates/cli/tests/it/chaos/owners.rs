//! One owner at a time, however many want to be it, and whatever a dead one left behind.

use std::fs;

use host::{Home, ProcessIdentity};
use protocol::{Envelope, Event, SessionId, Timestamp};
use store::SessionFile;
use testkit::binary::{BinaryFixture, PATIENCE, within};

use crate::crowds::at_once;
use crate::stage;

/// Two agents and the root leave their lines; nobody is fast.
const WORK: &str = "
version: 1
rules:
  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { description: a, prompt: go, agent_type: general-purpose, name: a, mode: background } }
      - call: { tool: task, input: { description: b, prompt: go, agent_type: general-purpose, name: b } }
  - when: { turn: ..4 }
    answer:
      - wait: 100ms
      - call: { id: 'of-${turn}', tool: shell, input: { command: \"echo '${path} ${turn}' >> witness\" } }
  - answer: [{ say: All done. }]
";

/// A session whose owner died at work.
fn orphaned() -> (BinaryFixture, String) {
    let stage = stage();
    stage
        .script(WORK)
        .prompt("go")
        .env("BOSUN_FAULT", "after-commit:callAnswered:2")
        .discard_output()
        .run()
        .expect_killed();
    let id = stage.newest();
    (stage, id)
}

fn adoptions(log: &[Envelope]) -> usize {
    log.iter().filter(|envelope| matches!(envelope.entry.event, Event::SessionAdopted { .. })).count()
}

#[track_caller]
fn check_done_once(stage: &BinaryFixture) {
    let witness = fs::read_to_string(stage.path("witness")).unwrap();
    let mut lines: Vec<&str> = witness.lines().collect();
    lines.sort_unstable();
    let all = lines.len();
    lines.dedup();
    assert_eq!(lines.len(), all, "{witness}");
}

#[test]
fn of_many_who_adopt_one_session_exactly_one_does() {
    for _ in 0..3 {
        let (stage, id) = orphaned();
        let ended = at_once(6, |_| stage.bosun(["--resume", &id, "--allow-all"]).run());
        let (won, lost): (Vec<_>, Vec<_>) = ended.into_iter().partition(|ended| ended.code() == Some(0));
        assert_eq!(won.len(), 1, "{lost:?}");
        assert_eq!(won[0].stdout, "All done.\n");
        for ended in lost {
            let refused = ended.stderr.contains("is run by process") || ended.stderr.contains("has nothing left to do");
            assert!(refused, "{}", ended.stderr);
        }
        check_done_once(&stage);
        assert!(adoptions(&stage.log(&id)) >= 1);
    }
}

/// Makes somebody the session's owner who may or may not be alive.
fn own(stage: &BinaryFixture, id: &str, owner: &ProcessIdentity) {
    let home = Home::open(stage.home()).unwrap();
    let id: SessionId = id.parse().unwrap();
    // Dropped without a release, it stays the owner.
    drop(SessionFile::adopt(&home, id, owner, Timestamp(1)).unwrap());
}

#[test]
fn a_process_with_the_number_of_a_dead_owner_is_not_taken_for_it() {
    let (stage, id) = orphaned();
    let alive = ProcessIdentity::current().unwrap();
    own(&stage, &id, &ProcessIdentity { started: alive.started + 1, ..alive });
    assert_eq!(stage.bosun(["--resume", &id, "--allow-all"]).run().expect(0).stdout, "All done.\n");
    check_done_once(&stage);
}

#[test]
fn an_owner_of_another_boot_is_dead() {
    let (stage, id) = orphaned();
    own(&stage, &id, &ProcessIdentity { boot: "another".into(), ..ProcessIdentity::current().unwrap() });
    assert_eq!(stage.bosun(["--resume", &id, "--allow-all"]).run().expect(0).stdout, "All done.\n");
}

#[test]
fn a_living_owner_is_not_robbed() {
    let (stage, id) = orphaned();
    own(&stage, &id, &ProcessIdentity::current().unwrap());
    let before = stage.log(&id);
    let refused = stage.bosun(["--resume", &id, "--allow-all"]).run();
    assert_ne!(refused.code(), Some(0));
    assert!(refused.stderr.contains(&std::process::id().to_string()), "{}", refused.stderr);
    assert_eq!(stage.log(&id), before);
}

#[test]
fn what_a_killed_owner_left_in_its_home_stops_nobody() {
    let (stage, id) = orphaned();
    // Its socket is still there, and nobody listens.
    assert!(Home::open(stage.home()).unwrap().socket(id.parse().unwrap()).exists());
    let running = stage.bosun(["--resume", &id, "--allow-all"]).start();
    within(PATIENCE, "the next owner", || adoptions(&stage.log(&id)) == 1);
    within(PATIENCE, "its socket", || {
        let sent = stage.bosun(["sessions", "send", &id, "a word"]).run().expect(0);
        sent.stderr.contains("delivered") || sent.stderr.contains("not running")
    });
    assert_eq!(running.wait().expect(0).stdout, "All done.\n");
    check_done_once(&stage);
}
