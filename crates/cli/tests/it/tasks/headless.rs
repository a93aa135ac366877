//! A run that answers while its agents work waits for them, and its exit code includes their outcomes.

use protocol::{Envelope, Event, MailBody, TaskOutcome};
use serde_json::json;
use testkit::binary::BinaryFixture;

use super::{let_go, state, tasks_json};
use crate::fixture;

/// A root that starts background agents and answers at once; `workers` has the rules of the agents.
fn subagents(names: &[&str], workers: &str) -> String {
    let start = |name: &&str| {
        format!(
            "      - call: {{ tool: task, input: {{ description: d, prompt: p, agent_type: general-purpose, \
             name: {name}, mode: background }} }}\n"
        )
    };
    let starts: String = names.iter().map(start).collect();
    format!(
        "version: 1
rules:
  - when: {{ path: /root, turn: 1 }}
    answer:
{starts}  - when: {{ path: /root }}
    answer: [say: \"This is turn ${{turn}}.\"]
{workers}"
    )
}

/// Workers that end when their file is there.
const UNTIL_GO: &str = r#"
  - when: { turn: 1 }
    answer:
      - call: { tool: shell, input: { command: "while [ ! -e $(basename ${path})-go ]; do sleep 0.01; done" } }
  - answer: [say: "Done by ${path}."]
"#;

/// How often the root read the result of each agent.
fn results(log: &[Envelope]) -> Vec<usize> {
    let results = log.iter().filter_map(|envelope| match &envelope.entry.event {
        Event::MailAdmitted { mail, body: MailBody::Result { .. }, .. } => Some(*mail),
        _other => None,
    });
    let read = |wanted| {
        let holds = |envelope: &&Envelope| match &envelope.entry.event {
            Event::MailDelivered { mail } => mail.contains(&wanted),
            _other => false,
        };
        log.iter().filter(holds).count()
    };
    results.map(read).collect()
}

fn ended_well(log: &[Envelope]) -> usize {
    let well = |event: &Event| matches!(event, Event::ActivationEnded { outcome: TaskOutcome::Completed, .. });
    log.iter().filter(|envelope| well(&envelope.entry.event)).count()
}

#[test]
fn run_waits_for_background_agents_in_any_order() {
    for order in ["abc", "acb", "bac", "bca", "cab", "cba"] {
        let fixture = fixture();
        fixture.script(&subagents(&["a", "b", "c"], UNTIL_GO));
        let running = fixture.prompt("go").args(["--output-format", "jsonl"]).start();
        running.await_stdout("This is turn 2.");
        for name in order.chars() {
            let_go(&fixture, &name.to_string());
            running.await_stdout(&format!("Done by /root/{name}."));
        }
        let last = running.wait().expect(0).json_lines().pop().unwrap();
        assert_eq!((&last["outcome"], &last["exitCode"]), (&json!("completed"), &json!(0)), "{order}: {last}");
        let log = fixture.log(&fixture.newest());
        assert_eq!(results(&log), [1, 1, 1], "{order}");
        let turns = last["turns"].as_u64().unwrap();
        assert!((2 + 1 + 6..=2 + 3 + 6).contains(&turns), "{order}: the root is woken once a batch: {turns} turns");
        assert!(ended_well(&log) >= 5, "{order}");
    }
}

#[test]
fn failed_agent_makes_the_answer_partial() {
    let fails = "  - when: { path: /root/b }\n    fail: { class: terminal, message: no such model }\n";
    let fixture = fixture();
    fixture.script(&subagents(&["a", "b"], &format!("{fails}  - answer: [say: done]\n")));
    let ended = fixture.prompt("go").args(["--output-format", "json"]).run().expect(3).json();
    assert_eq!((&ended["outcome"], &ended["exitCode"]), (&json!("completed"), &json!(3)), "{ended}");
    let listed = tasks_json(&fixture, &["list"]);
    assert_eq!((state(&listed, "/root/a"), state(&listed, "/root/b")), ("idle".into(), "failed".into()));
}

fn cut_off(fixture: &BinaryFixture) {
    let ended = fixture.prompt("go").args(["--background-wait", "200ms"]).run().expect(4);
    assert_eq!(ended.stdout, "This is turn 2.\n");
    let expected = "stopped after a time without activity: a";
    assert_eq!(ended.says(&["--background-wait TIME"]).stderr.matches(expected).count(), 1);
}

#[test]
fn agents_stopped_after_the_wait_are_not_a_success() {
    let fixture = fixture();
    fixture.script(&subagents(&["a"], UNTIL_GO));
    cut_off(&fixture);
    assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/a"), "cancelled");
}

#[test]
fn active_agents_are_waited_for() {
    let steps = "  - when: { turn: ..30 }\n    answer:\n      - wait: 150ms\n      - call: { tool: report_intent, \
                 input: { intent: 'step ${turn}' } }\n  - answer: [say: \"Done by ${path}.\"]\n";
    let fixture = fixture();
    fixture.script(&subagents(&["a"], steps));
    let ended = fixture.prompt("go").args(["--background-wait", "4s", "--output-format", "json"]).run().expect(0);
    assert!(ended.took.as_secs() >= 4, "it took {:?}", ended.took);
    assert_eq!((&ended.json()["text"], state(&ended.json(), "/root/a")), (&json!("This is turn 3."), "idle".into()));
}

#[test]
fn agent_waiting_for_a_quota_parks_the_run() {
    let parks = "  - when: { not: { contains: it is back } }\n    fail: { class: quota-until, after: 1h }\n  \
                 - answer: [say: \"Done by ${path}.\"]\n";
    let fixture = fixture();
    fixture.script(&subagents(&["a"], parks));
    let go = fixture.prompt("go").args(["--park-wait", "50ms", "--output-format", "json"]);
    let ended = go.run().expect(7).json();
    assert_eq!((&ended["outcome"], state(&ended, "/root/a")), (&json!("parked"), "parked".into()), "{ended}");
}
