//! Owners that are dead, or only asleep.

use testkit::binary::ProcessSignal;

use super::{busy, let_go, state, tasks, tasks_json};
use crate::scripts::shells;
use crate::stage;

#[test]
fn what_ran_under_a_dead_owner_is_interrupted_and_only_commands_are_lost() {
    let stage = stage();
    let wait = "touch busy; while [ ! -e go ]; do sleep 0.01; done";
    let script = shells(&[
        serde_json::json!({ "command": "sleep 1000", "background": true, "description": "sleeps" }),
        serde_json::json!({ "command": wait }),
    ]);
    let mut running = stage.script(&script).prompt("go").start();
    testkit::binary::within(testkit::binary::PATIENCE, "the command runs", || stage.path("busy").exists());
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let listed = tasks_json(&stage, &["list"]);
    assert_eq!((state(&listed, "/root"), state(&listed, "/root/sleep")), ("interrupted".into(), "lost".into()));
    assert!(tasks(&stage, &["--state", "lost"]).contains("sleep"));
    let shown = stage.bosun(["sessions", "show", &stage.newest()]).run().expect(0).stdout;
    assert!(shown.contains("state         interrupted") && shown.contains("lost"), "{shown}");
    assert_eq!(stage.sessions()[0]["state"], "interrupted");
    // Nothing was written for that.
    let log = stage.log(&stage.newest());
    assert!(!log.iter().any(|envelope| matches!(envelope.entry.event, protocol::Event::TaskInterrupted)));
}

#[test]
fn a_command_for_a_session_that_nobody_runs_waits_in_its_file() {
    let stage = stage();
    let mut running = busy(&stage);
    running.signal(ProcessSignal::Kill);
    running.wait().expect_killed();
    let listed = tasks_json(&stage, &["list"]);
    assert_eq!(state(&listed, "/root/docs"), "interrupted");
    let sent = stage.bosun(["tasks", "send", "docs", "message after death"]).run().expect(0);
    assert_eq!(sent.stdout, "queued for /root/docs\n");
    sent.says(&["no process runs the session", "bosun --resume"]);
    stage.bosun(["tasks", "background", "tests"]).run().expect(2).says(&["so nothing waits for /root/tests"]);
    stage.bosun(["tasks", "rm", "tests"]).run().expect(2).says(&["has not ended"]);
    assert_eq!(tasks(&stage, &["stop", "tests", "--now"]), "queued for /root/tests\n");
    let_go(&stage, "docs");
    let_go(&stage, "tests");
    let went_on = stage.bosun(["--continue", "--allow-all"]).run().expect(0);
    went_on.says(&["  docs: ! interrupted: ", "  • docs completed"]);
    assert_eq!(tasks(&stage, &["output", "docs"]), "I was told after death.\n");
    assert_eq!(state(&tasks_json(&stage, &["list"]), "/root/tests"), "cancelled");
    // Whoever looks now sees it gone at once, although no process runs the session.
    assert_eq!(tasks(&stage, &["rm", "tests"]), "/root/tests is removed\n");
    assert!(!tasks(&stage, &[]).contains("tests"));
}

#[test]
fn an_owner_that_sleeps_is_no_dead_owner() {
    let stage = stage();
    let mut running = busy(&stage);
    running.signal(ProcessSignal::Stop);
    let listed = tasks_json(&stage, &["list"]);
    assert_eq!((state(&listed, "/root/docs"), state(&listed, "/root")), ("running".into(), "running".into()));
    let sent = stage.bosun(["tasks", "send", "docs", "message good morning"]).run().expect(1);
    sent.says(&["does not answer"]);
    // Nobody takes over what is only asleep.
    stage.bosun(["--continue", "--allow-all"]).run().expect(2);
    let_go(&stage, "docs");
    let_go(&stage, "tests");
    running.signal(ProcessSignal::Continue);
    running.wait().expect(0);
    // Whoever asked had gone, and was told so: a process that is not there any more speaks for nobody.
    assert!(!tasks(&stage, &["output", "docs"]).contains("good morning"));
}
