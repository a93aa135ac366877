//! Owners that are dead, or only suspended.

use testkit::binary::ProcessSignal;

use super::{busy, let_go, state, tasks, tasks_json};
use crate::fixture;
use crate::scripts::shells;

#[test]
fn agents_of_a_dead_owner_are_interrupted_and_commands_lost() {
    let fixture = fixture();
    let wait = "touch busy; while [ ! -e go ]; do sleep 0.01; done";
    let script = shells(&[
        serde_json::json!({ "command": "sleep 1000", "background": true, "description": "sleeps" }),
        serde_json::json!({ "command": wait }),
    ]);
    let mut running = fixture.script(&script).prompt("go").start();
    testkit::binary::within(testkit::binary::PATIENCE, "the command runs", || fixture.path("busy").exists());
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let listed = tasks_json(&fixture, &["list"]);
    assert_eq!((state(&listed, "/root"), state(&listed, "/root/sleep")), ("interrupted".into(), "lost".into()));
    assert!(tasks(&fixture, &["--state", "lost"]).contains("sleep"));
    let shown = fixture.bosun(["sessions", "show", &fixture.newest()]).run().expect(0).stdout;
    assert!(shown.contains("state         interrupted") && shown.contains("lost"), "{shown}");
    assert_eq!(fixture.sessions()[0]["state"], "interrupted");
    // No event was written for this.
    let log = fixture.log(&fixture.newest());
    assert!(!log.iter().any(|envelope| matches!(envelope.entry.event, protocol::Event::TaskInterrupted)));
}

#[test]
fn command_for_an_unowned_session_is_queued() {
    let fixture = fixture();
    let mut running = busy(&fixture);
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let listed = tasks_json(&fixture, &["list"]);
    assert_eq!(state(&listed, "/root/docs"), "interrupted");
    let sent = fixture.bosun(["tasks", "send", "docs", "message after death"]).run().expect(0);
    assert_eq!(sent.stdout, "queued for /root/docs\n");
    sent.says(&["no process runs the session", "bosun --resume"]);
    fixture.bosun(["tasks", "background", "tests"]).run().expect(2).says(&["so nothing waits for /root/tests"]);
    fixture.bosun(["tasks", "rm", "tests"]).run().expect(2).says(&["has not ended"]);
    assert_eq!(tasks(&fixture, &["stop", "tests", "--now"]), "queued for /root/tests\n");
    let_go(&fixture, "docs");
    let_go(&fixture, "tests");
    let resumed = fixture.bosun(["--continue", "--allow-all"]).run().expect(0);
    resumed.says(&["  docs: ! interrupted: ", "  • docs completed"]);
    assert_eq!(tasks(&fixture, &["output", "docs"]), "I was told after death.\n");
    assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/tests"), "cancelled");
    // The task disappears at once, although no process runs the session.
    assert_eq!(tasks(&fixture, &["rm", "tests"]), "/root/tests is removed\n");
    assert!(!tasks(&fixture, &[]).contains("tests"));
}

#[test]
fn suspended_owner_is_not_dead() {
    let fixture = fixture();
    let mut running = busy(&fixture);
    running.signal(ProcessSignal::Stop);
    let listed = tasks_json(&fixture, &["list"]);
    assert_eq!((state(&listed, "/root/docs"), state(&listed, "/root")), ("running".into(), "running".into()));
    let sent = fixture.bosun(["tasks", "send", "docs", "message good morning"]).run().expect(1);
    sent.says(&["does not answer"]);
    // No process adopts the session of a suspended owner.
    fixture.bosun(["--continue", "--allow-all"]).run().expect(2);
    let_go(&fixture, "docs");
    let_go(&fixture, "tests");
    running.signal(ProcessSignal::Continue);
    running.wait().expect(0);
    // The sender has ended and was told that there is no answer: the owner ignores senders that are gone.
    assert!(!tasks(&fixture, &["output", "docs"]).contains("good morning"));
}
