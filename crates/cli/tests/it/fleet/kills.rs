//! A fleet whose owner is killed at any moment and whose workers fail: every todo is done once, and no claim is left
//! without a worker.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use protocol::{Event, TaskOutcome};
use serde_json::Value;
use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, within};

use super::fixture_with_plan;

/// Each worker appends a line; one whose command was killed just ends. The first worker of every fifth todo fails
/// before it does anything.
const SCRIPT: &str = "
  - when: { path: \"/root/t[0-9]*[27]\" }
    fail: { class: terminal }
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { command: \"echo ${path} >> witness\" } }]
  - answer: [say: done]
";

/// A plan with this many todos, each depending on a few earlier ones.
fn plan(todos: usize) -> String {
    let line = |n: usize| {
        let above: Vec<String> =
            [n / 3, n / 7].into_iter().filter(|above| n > 8 && *above != n).map(|n| format!("t{n}")).collect();
        format!("  - {{ id: t{n}, title: Number {n}, depends_on: [{}] }}\n", above.join(", "))
    };
    format!("todos:\n{}", (0..todos).map(line).collect::<String>())
}

/// Runs the plan, kills each owner after one of these times, and resumes to the end.
fn run_with_kills(todos: usize, kills: &[u64]) {
    let fixture = fixture_with_plan(&plan(todos), SCRIPT);
    let options = ["--allow-all", "--max-agents", "64", "--quiet"];
    let run = ["fleet", "run", "plan.yaml"].into_iter().chain(options);
    let mut running = fixture.bosun(run).start();
    within(PATIENCE, "a worker runs", || fixture.path("witness").exists());
    for millis in kills {
        // Any moment will do, however far it is by then.
        thread::sleep(Duration::from_millis(*millis));
        running.signal(ProcessSignal::Kill);
        running.wait();
        running = fixture.bosun(["fleet", "resume"].into_iter().chain(options)).start();
    }
    running.wait().expect(0);
    check(&fixture, todos);
}

fn check(fixture: &BinaryFixture, todos: usize) {
    let json = fixture.bosun(["fleet", "status", "--json"]).run().expect(0).json();
    let rows = json["todos"].as_array().unwrap();
    assert_eq!(rows.len(), todos);
    let tries = |row: &Value| if row["id"].as_str().unwrap().ends_with(['2', '7']) { 2 } else { 1 };
    assert!(rows.iter().all(|row| row["status"] == "done" && row["attempts"] == tries(row)), "{json}");
    let mut failed = 0;
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for envelope in fixture.log(&fixture.newest()) {
        match envelope.entry.event {
            Event::TodoDone { todo, .. } => *done.entry(todo.0).or_default() += 1,
            Event::ActivationEnded { outcome: TaskOutcome::Failed { .. }, .. } => failed += 1,
            Event::ActivationEnded { outcome, .. } => assert_eq!(outcome, TaskOutcome::Completed),
            _other => {}
        }
    }
    assert!(done.len() == todos && done.values().all(|times| *times == 1), "{done:?}");
    assert_eq!(failed, todos / 5, "a failed worker is replaced once");
    let witness = fs::read_to_string(fixture.path("witness")).unwrap();
    let mut lines: Vec<&str> = witness.lines().collect();
    let all = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), all, "no worker did its work twice");
}

#[test]
fn two_hundred_todos_survive_kills_of_their_owner_and_workers() {
    run_with_kills(200, &[300, 700, 1_100, 500]);
}

#[test]
#[ignore = "it takes minutes: cargo xtask chaos --fleet"]
fn a_thousand_todos_survive_kills_of_their_owner_and_workers() {
    run_with_kills(1_000, &[500, 1_500, 900, 2_500, 300, 4_000, 1_200, 3_000, 700, 2_000]);
}
