//! A fleet is stopped, by Ctrl-C and from another terminal, and goes on.

use std::fs;

use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, within};

use super::planned;

/// The first todo waits for a file called `go`.
fn waiting() -> BinaryFixture {
    let script = "
  - when: { path: \"/root/one.*\", turn: 1 }
    answer: [call: { tool: shell, input: { command: \"touch began; until [ -e go ]; do sleep 0.01; done\" } }]
  - answer: [say: done]
";
    planned("todos: [{ id: one, title: The first }, { id: two, title: The second, depends_on: [one] }]\n", script)
}

fn began(stage: &BinaryFixture) {
    within(PATIENCE, "the worker is at work", || stage.path("began").exists());
}

#[test]
fn an_interrupt_leaves_a_fleet_that_goes_on() {
    let stage = waiting();
    let mut running = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).start();
    began(&stage);
    running.signal(ProcessSignal::Interrupt);
    running.wait().expect(5).says(&["resume it: bosun fleet resume"]);
    fs::write(stage.path("go"), "").unwrap();
    // Another prompt of the same session tells of the fleet, and is answered.
    let prompted = stage.bosun(["--continue", "-p", "hello", "--allow-all"]).run();
    prompted.expect(0).says(&["this session has an unfinished fleet", "bosun fleet resume"]);
    stage.bosun(["fleet", "resume", "--allow-all"]).run().expect(0).says(&["fleet done: 2/2 done"]);
}

#[test]
fn a_fleet_is_stopped_from_another_terminal() {
    let stage = waiting();
    let running = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).start();
    began(&stage);
    let status = stage.bosun(["fleet", "status"]).run().expect(0).stdout;
    assert!(status.contains("at work in process") && status.contains("in_progress"), "{status}");
    stage.bosun(["fleet", "stop"]).run().expect(0).says(&["delivered"]);
    running.wait().expect(5).says(&["returned one", "fleet stopped"]);
    let json = stage.bosun(["fleet", "status", "--json"]).run().expect(0).json();
    assert_eq!((&json["end"], &json["todos"][0]["status"]), (&"stopped".into(), &"pending".into()));
    stage.bosun(["fleet", "stop"]).run().expect(0).says(&["not running"]);
    fs::write(stage.path("go"), "").unwrap();
    stage.bosun(["fleet", "resume", "--allow-all"]).run().expect(0);
}
