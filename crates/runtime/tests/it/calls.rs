//! Tool calls: their order, and exactly one answer for each.

use std::path::PathBuf;

use insta::assert_snapshot;
use protocol::{CallId, Event, MailDelivery, ToolResultStatus};
use runtime::SessionStart;
use testkit::session::{PlayedSession, scenario};

use crate::support::{rules, turns};

/// The starts and ends of calls, in order.
fn steps(run: &PlayedSession) -> Vec<String> {
    let step = |event: &Event| match event {
        Event::CallStarted { call } => Some(format!("{call} starts")),
        Event::CallAnswered { call, .. } => Some(format!("{call} ends")),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| step(&envelope.entry.event)).collect()
}

/// The transcript without the list of all tools, which grows with each new one.
fn without_list_of_tools(transcript: &str) -> String {
    let (before, list) = transcript.split_once("The tools are: view, ").unwrap();
    let (_, after) = list.split_once(", tool_search.\n").unwrap();
    format!("{before}The tools are: […].\n{after}")
}

/// Every call with its answers.
fn answers(run: &PlayedSession) -> Vec<(CallId, ToolResultStatus, String)> {
    let answer = |event: &Event| match event {
        Event::CallAnswered { call, answer, .. } => Some((call.clone(), answer.status, answer.text.clone())),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| answer(&envelope.entry.event)).collect()
}

#[tokio::test]
async fn readers_that_stand_together_run_together() {
    let script = turns(
        "
    - - call: { id: a, tool: view, input: { path: a.txt } }
      - call: { id: b, tool: grep, input: { pattern: hello } }
      - call: { id: c, tool: glob, input: { pattern: '*.txt' } }
    - - say: done
",
    );
    let run = scenario().script(&script).file("a.txt", "hello\n").prompt("look").run().await;
    let steps = steps(&run);
    assert_eq!(steps[..3], ["a starts", "b starts", "c starts"]);
    assert_eq!(steps.len(), 6);
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn what_writes_runs_in_order_and_alone() {
    let script = turns(
        "
    - - call: { id: a, tool: view, input: { path: log } }
      - call: { id: b, tool: shell, input: { command: 'sleep 0.1; echo slow >> log' } }
      - call: { id: c, tool: shell, input: { command: echo fast >> log } }
      - call: { id: d, tool: view, input: { path: log } }
    - - say: done
",
    );
    let run = scenario().script(&script).allow_all().file("log", "first\n").prompt("go").run().await;
    let expected = ["a", "b", "c", "d"].map(|id| [format!("{id} starts"), format!("{id} ends")]).concat();
    assert_eq!(steps(&run), expected);
    assert_eq!(run.file("log").unwrap(), "first\nslow\nfast\n");
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn every_call_has_one_answer_whatever_becomes_of_it() {
    let script = turns(
        "
    - - call: { id: unknown, tool: teleport, input: { to: moon } }
      - raw_call: { id: malformed, tool: view, input: '{ not json' }
      - call: { id: wrong, tool: view, input: { pathh: a.txt } }
      - call: { id: missing, tool: view, input: { path: no.txt } }
      - call: { id: outside, tool: view, input: { path: /etc/passwd } }
      - call: { id: denied, tool: create, input: { path: b.txt, content: x } }
      - call: { id: executes, tool: shell, input: { command: touch c.txt } }
      - call: { id: same, tool: view, input: { path: a.txt } }
      - call: { id: same, tool: view, input: { path: a.txt } }
      - call: { id: intent, tool: report_intent, input: { intent: Trying everything } }
      - call: { id: sql, tool: sql, input: { query: SELECT 1 } }
    - - say: done
",
    );
    let run = scenario().script(&script).file("a.txt", "hello\n").prompt("try").run().await;
    assert_eq!((run.file("b.txt"), run.file("c.txt")), (None, None));
    assert_snapshot!(without_list_of_tools(&run.transcript()));
}

#[tokio::test]
async fn a_tool_that_breaks_is_answered_and_the_turn_goes_on() {
    let script = turns(
        "
    - - call: { id: breaks, tool: shell, input: { command: echo hi } }
      - call: { id: works, tool: view, input: { path: a.txt } }
    - - say: One of two.
",
    );
    let run = scenario()
        .script(&script)
        .allow_all()
        .guardian(PathBuf::from("/no/such/guardian"))
        .file("a.txt", "hello\n")
        .prompt("try")
        .run()
        .await;
    let statuses: Vec<ToolResultStatus> = answers(&run).into_iter().map(|(_, status, _)| status).collect();
    assert_eq!(statuses, [ToolResultStatus::Broken, ToolResultStatus::Done]);
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn an_id_may_come_again_in_a_later_turn() {
    let script = turns(
        "
    - - call: { id: x, tool: view, input: { path: a.txt } }
    - - call: { id: x, tool: view, input: { path: b.txt } }
    - - say: done
",
    );
    let run = scenario().script(&script).file("a.txt", "one").file("b.txt", "two").prompt("go").run().await;
    assert_eq!(answers(&run).len(), 2);
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_huge_answer_is_clipped_to_its_head_and_tail() {
    let script = rules(
        "  - when: { turn: 1 }
    answer:
      - call: { tool: shell, input: { command: seq 1 200000 } }
  - answer: [say: long]
",
    );
    let limit = tools::ToolLimits::default().output_bytes;
    let run = scenario().script(&script).allow_all().prompt("go").run().await;
    let [(_, _, text)] = &answers(&run)[..] else { panic!("one call, one answer") };
    assert!(text.len() <= limit && text.len() > limit / 2, "{} bytes", text.len());
    assert!(text.starts_with("1\n2\n") && text.contains("left out") && text.trim_end().ends_with("200000"));
}

#[tokio::test]
async fn a_viewed_file_may_be_edited_after_the_next_prompt_too() {
    let answers = rules(
        "  - when: { prompt: look, turn: 1 }
    answer: [call: { tool: view, input: { path: a.txt } }]
  - when: { prompt: change, turn: 3 }
    answer: [call: { tool: edit, input: { path: a.txt, old: hello, new: goodbye } }]
  - answer: [say: ok]
",
    );
    let stage = scenario().script(&answers).file("a.txt", "hello\n").allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("look", MailDelivery::FollowUp).await;
    driver.rest().await;
    driver.send("change", MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.file("a.txt").as_deref(), Some("goodbye\n"), "{}", run.transcript());
}
