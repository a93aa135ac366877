//! A session has one owner at a time, even if many processes compete or a dead one left files behind.

use std::fs;

use host::{Home, ProcessIdentity};
use protocol::{Envelope, Event, SessionId, Timestamp};
use testkit::binary::{BinaryFixture, PATIENCE, within};
use testkit::store::SessionFile;

use crate::crowds::run_concurrently;
use crate::fixture;

/// Two agents and the root append lines slowly.
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
    let fixture = fixture();
    fixture
        .script(WORK)
        .prompt("go")
        .env("BOSUN_FAULT", "after-commit:callAnswered:2")
        .discard_output()
        .run()
        .expect_killed();
    let id = fixture.newest();
    (fixture, id)
}

fn adoptions(log: &[Envelope]) -> usize {
    log.iter().filter(|envelope| matches!(envelope.entry.event, Event::SessionAdopted { .. })).count()
}

/// Checks that no command of the script ran twice.
#[track_caller]
fn check_no_repeated_command(fixture: &BinaryFixture) {
    let witness = fs::read_to_string(fixture.path("witness")).unwrap();
    let mut lines: Vec<&str> = witness.lines().collect();
    lines.sort_unstable();
    let all = lines.len();
    lines.dedup();
    assert_eq!(lines.len(), all, "{witness}");
}

#[test]
fn exactly_one_of_many_processes_completes_a_session() {
    for _ in 0..3 {
        let (fixture, id) = orphaned();
        let ended = run_concurrently(6, |_| fixture.bosun(["--resume", &id, "--allow-all"]).run());
        let (won, lost): (Vec<_>, Vec<_>) = ended.into_iter().partition(|ended| ended.code() == Some(0));
        assert_eq!(won.len(), 1, "{lost:?}");
        assert_eq!(won[0].stdout, "All done.\n");
        for ended in lost {
            let refused = ended.stderr.contains("is run by process") || ended.stderr.contains("has nothing left to do");
            assert!(refused, "{}", ended.stderr);
        }
        check_no_repeated_command(&fixture);
        // A process that starts after the winner has left also adopts the session, but finds nothing left to do.
        assert!(adoptions(&fixture.log(&id)) >= 1);
    }
}

/// Makes a process, alive or not, the owner of the session.
fn make_owner(fixture: &BinaryFixture, id: &str, owner: &ProcessIdentity) {
    let home = Home::open(fixture.home()).unwrap();
    let id: SessionId = id.parse().unwrap();
    // The file is dropped without a release, so `owner` stays recorded as its owner.
    drop(SessionFile::adopt(&home, id, owner, Timestamp(1)).unwrap());
}

#[test]
fn process_with_the_pid_of_a_dead_owner_is_not_the_owner() {
    let (fixture, id) = orphaned();
    let alive = ProcessIdentity::current().unwrap();
    make_owner(&fixture, &id, &ProcessIdentity { start_ticks: alive.start_ticks + 1, ..alive });
    assert_eq!(fixture.bosun(["--resume", &id, "--allow-all"]).run().expect(0).stdout, "All done.\n");
    check_no_repeated_command(&fixture);
}

#[test]
fn owner_from_another_boot_counts_as_dead() {
    let (fixture, id) = orphaned();
    make_owner(&fixture, &id, &ProcessIdentity { boot: "another".into(), ..ProcessIdentity::current().unwrap() });
    assert_eq!(fixture.bosun(["--resume", &id, "--allow-all"]).run().expect(0).stdout, "All done.\n");
}

#[test]
fn session_of_a_live_owner_is_not_adopted() {
    let (fixture, id) = orphaned();
    make_owner(&fixture, &id, &ProcessIdentity::current().unwrap());
    let before = fixture.log(&id);
    let refused = fixture.bosun(["--resume", &id, "--allow-all"]).run();
    assert_ne!(refused.code(), Some(0));
    assert!(refused.stderr.contains(&std::process::id().to_string()), "{}", refused.stderr);
    assert_eq!(fixture.log(&id), before);
}

#[test]
fn leftovers_of_a_killed_owner_do_not_block_the_next() {
    let (fixture, id) = orphaned();
    // Its socket still exists, but no process listens.
    assert!(Home::open(fixture.home()).unwrap().socket(id.parse().unwrap()).exists());
    let running = fixture.bosun(["--resume", &id, "--allow-all"]).start();
    within(PATIENCE, "the next owner", || adoptions(&fixture.log(&id)) == 1);
    within(PATIENCE, "its socket", || {
        let sent = fixture.bosun(["sessions", "send", &id, "a word"]).run().expect(0);
        sent.stderr.contains("delivered") || sent.stderr.contains("not running")
    });
    assert_eq!(running.wait().expect(0).stdout, "All done.\n");
    check_no_repeated_command(&fixture);
}
