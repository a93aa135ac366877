//! Stopping a fleet with Ctrl-C and from another terminal, and resuming it.

use std::fs;

use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, Tmux, within};

use super::fixture_with_plan;

/// The first todo waits for a file called `go`.
fn waiting_fleet() -> BinaryFixture {
    let script = "
  - when: { path: \"/root/one.*\", turn: 1 }
    answer: [call: { tool: shell, input: { command: \"touch began; until [ -e go ]; do sleep 0.01; done\" } }]
  - answer: [say: done]
";
    fixture_with_plan(
        "todos: [{ id: one, title: The first }, { id: two, title: The second, depends_on: [one] }]\n",
        script,
    )
}

fn await_worker(fixture: &BinaryFixture) {
    within(PATIENCE, "the worker is at work", || fixture.path("began").exists());
}

#[test]
fn interrupted_fleet_can_be_resumed() {
    let fixture = waiting_fleet();
    let mut running = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).start();
    await_worker(&fixture);
    running.signal(ProcessSignal::Interrupt);
    running.wait().expect(5).says(&["resume it with: bosun fleet resume"]);
    fs::write(fixture.path("go"), "").unwrap();
    // Another prompt in the same session mentions the fleet, and is answered.
    let prompted = fixture.bosun(["--continue", "-p", "hello", "--allow-all"]).run();
    prompted.expect(0).says(&["this session has an unfinished fleet", "bosun fleet resume"]);
    let chat = Tmux::start(&fixture.bosun(["--continue", "--allow-all"]), 100, 24);
    chat.shows("this session has an unfinished fleet; resume it with: bosun fleet resume").press("C-d");
    assert_eq!(chat.ends(), 0, "{}", chat.history());
    fixture.bosun(["fleet", "resume", "--allow-all"]).run().expect(0).says(&["fleet done: 2/2 done"]);
}

/// A conversation would not run the fleet.
#[test]
fn decision_for_an_interrupted_fleet_names_the_command_that_resumes_the_fleet() {
    let script = "
  - when: { path: /root/one, turn: 1 }
    answer: [call: { tool: shell, input: { command: touch it } }]
  - answer: [say: done]
";
    let fixture = fixture_with_plan("todos: [{ id: one, title: The first }]\n", script);
    let approvals = |args: &[&str]| fixture.bosun(["approvals"].iter().chain(args)).run();
    let mut running = fixture.bosun(["fleet", "run", "plan.yaml", "--ask-wait", "10m"]).start();
    within(PATIENCE, "the worker asks", || approvals(&[]).stdout.contains("touch it"));
    running.signal(ProcessSignal::Interrupt);
    running.wait().expect(5);
    let resume = format!("resume with: bosun fleet resume {}", fixture.newest());
    let listed = approvals(&[]).expect(0).says(&["hint: bosun approvals allow 1"]);
    assert!(listed.stdout.contains(" ago  one  (its session is not running)"), "{}", listed.stdout);
    approvals(&["allow", "1"]).expect(0).says(&[&resume]);
    let listed = approvals(&[]).expect(0);
    assert!(listed.stdout.contains(&resume) && !listed.stderr.contains("hint:"), "{listed:?}");
    approvals(&["allow", "1"]).expect(2).says(&["is already allowed", &resume]);
    // Not the beginning of an id, which is hexadecimal.
    approvals(&["allow", "x7"]).expect(2).says(&["there is no request `x7`; nothing waits for your decision"]);
    fixture.bosun(["fleet", "resume"]).run().expect(0);
    assert!(fixture.path("it").exists());
}

#[test]
fn a_fleet_is_stopped_from_another_terminal() {
    let fixture = waiting_fleet();
    let running = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).start();
    await_worker(&fixture);
    let status = fixture.bosun(["fleet", "status"]).run().expect(0).stdout;
    assert!(status.contains("at work in process") && status.contains("one   at work "), "{status}");
    fixture.bosun(["fleet", "stop"]).run().expect(0).says(&["delivered"]);
    running.wait().expect(5).says(&["returned one", "fleet stopped"]);
    let json = fixture.bosun(["fleet", "status", "--json"]).run().expect(0).json();
    assert_eq!((&json["end"], &json["todos"][0]["status"]), (&"stopped".into(), &"pending".into()));
    fixture.bosun(["fleet", "stop"]).run().expect(0).says(&["no fleet is at work"]);
    fs::write(fixture.path("go"), "").unwrap();
    fixture.bosun(["fleet", "resume", "--allow-all"]).run().expect(0);
}

#[test]
fn a_fleet_whose_process_died_can_be_stopped_and_resumed() {
    let fixture = waiting_fleet();
    let mut running = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).start();
    await_worker(&fixture);
    running.signal(ProcessSignal::Kill);
    running.wait();
    let status = || fixture.bosun(["fleet", "status"]).run().expect(0).stdout;
    assert!(status().contains("interrupted: no process runs it"), "{}", status());
    fixture.bosun(["fleet", "stop"]).run().expect(0).says(&["is stopped", "bosun fleet resume"]);
    assert!(status().contains("\nstopped\n"), "{}", status());
    let watched = fixture.bosun(["todos", "watch"]).run().expect(0);
    assert!(!format!("{watched:?}").contains("leet interrupted"), "{watched:?}");
    fixture.bosun(["fleet", "stop"]).run().expect(0).says(&["no fleet is at work"]);
    fs::write(fixture.path("go"), "").unwrap();
    // The next owner of the session stops the fleet, and does not continue it.
    fixture.bosun(["--continue", "-p", "hello", "--allow-all"]).run().expect(0).says(&["a stopped fleet"]);
    fixture.bosun(["fleet", "resume", "--allow-all"]).run().expect(0).says(&["fleet done: 2/2 done"]);
}
