//! However Bosun ends, no process that it started is left.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, RunningBinary, commands_with, unique_sleep, within};

use crate::fixture;
use crate::scripts::{shell, shells};

/// Commands that may leave processes behind, with two sleepers each; `N` stands for the sleep time.
const COMMANDS: [&str; 6] = [
    "sleep N | sleep N",
    "sleep N & sleep N",
    "setsid sleep N & sleep N",
    "nohup sleep N > /dev/null 2>&1 & sleep N",
    "(setsid sh -c 'sleep N & exit' &); sleep N",
    "trap '' 1 2 15; env -i setsid -f sleep N; sleep N",
];

/// The time within which all processes must be gone after the end.
const GRACE: Duration = Duration::from_secs(5);

/// Every command in the background, then all of them at once in the foreground.
fn script(sleep: &str) -> String {
    let background = COMMANDS.map(|command| json!({ "command": command.replace('N', sleep), "background": true }));
    let all = COMMANDS.map(|command| format!("({command}) &")).join(" ") + " wait";
    let foreground = json!({ "command": all.replace('N', sleep) });
    shells(&[&background[..], &[foreground]].concat())
}

/// A run all of whose sleepers have started.
fn sleeping(fixture: &BinaryFixture, sleep: &str) -> RunningBinary {
    let running = fixture.script(&script(sleep)).prompt("go").start();
    let sleepers = || commands_with(sleep).into_iter().filter(|command| command.starts_with("sleep")).count();
    within(PATIENCE, "every sleeper sleeps", || sleepers() == 4 * COMMANDS.len());
    running
}

#[track_caller]
fn assert_gone(sleep: &str) {
    within(GRACE, "everything is gone", || commands_with(sleep).is_empty());
}

#[test]
fn nothing_is_left_after_a_kill() {
    let (fixture, sleep) = (fixture(), unique_sleep());
    let mut running = sleeping(&fixture, &sleep);
    running.signal(ProcessSignal::Kill);
    assert_gone(&sleep);
    running.wait().expect_killed();
}

#[test]
fn nothing_is_left_after_ctrl_c() {
    let (fixture, sleep) = (fixture(), unique_sleep());
    let mut running = sleeping(&fixture, &sleep);
    running.signal(ProcessSignal::Interrupt);
    running.wait().expect(5);
    assert_gone(&sleep);
}

#[test]
fn nothing_is_left_after_termination() {
    for signal in [ProcessSignal::Terminate, ProcessSignal::HangUp] {
        let (fixture, sleep) = (fixture(), unique_sleep());
        let mut running = sleeping(&fixture, &sleep);
        running.signal(signal);
        running.wait().expect(5);
        assert_gone(&sleep);
    }
}

#[test]
fn nothing_is_left_after_a_normal_end() {
    let (fixture, sleep) = (fixture(), unique_sleep());
    let inputs: Vec<Value> = [
        json!({ "command": "sleep N & true" }),
        json!({ "command": "setsid sleep N & true" }),
        json!({ "command": "nohup sleep N > /dev/null 2>&1 & true" }),
        json!({ "command": "(setsid sh -c 'sleep N & exit' &); env -i setsid -f sleep N" }),
        json!({ "command": "sleep N | sleep N", "timeout_secs": 1 }),
        json!({ "command": "sleep N | sleep N", "background": true }),
    ]
    .map(|input| serde_json::from_str(&input.to_string().replace('N', &sleep)).unwrap())
    .to_vec();
    let ended = fixture.script(&shells(&inputs)).prompt("go").args(["--background-wait", "0s"]).run().expect(4);
    assert!(ended.stdout.starts_with("It said: started in the background"), "{}", ended.stdout);
    assert_gone(&sleep);
}

#[test]
fn nothing_is_left_of_a_command_that_keeps_forking() {
    let (fixture, sleep) = (fixture(), unique_sleep());
    let command = format!("while :; do setsid -f sh -c 'sleep 0.1; : {sleep}'; sleep 0.01; done & sleep {sleep}");
    let mut running = fixture.script(&shell(&command)).prompt("go").start();
    within(PATIENCE, "it forks", || commands_with(&sleep).len() > 5);
    running.signal(ProcessSignal::Kill);
    assert_gone(&sleep);
    running.wait().expect_killed();
}
