//! Agents that show no sign of life.

use std::sync::Arc;

use model::Model;
use protocol::{Event, FailKind, TaskOutcome, TaskState};
use testkit::session::{PlayedSession, scenario};

use super::{ABORT_SECONDS, STALL_SECONDS, aborted_as_stalled, begin, stalled, starts, unstalled};
use crate::support::{Gate, pass_seconds, rules};

fn named<'a>(run: &'a PlayedSession, name: &str) -> &'a protocol::api::TaskView {
    run.tasks().iter().find(|task| task.path == format!("/root/{name}")).unwrap()
}

#[tokio::test]
async fn a_stalled_agent_does_not_affect_seven_others() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let script = rules(&format!(
        "  - when: {{ path: /root/c }}
    answer: [hang: true]
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{}  - answer: [say: 'noted ${{prompt}}']
",
        starts(&names, "background")
    ));
    let mut driver = begin(scenario().script(&script)).await;
    let only_one = |status: &runtime::SessionStatus| status.root_is_at_rest() && status.background == 1;
    driver.until_status("seven results", only_one).await;
    pass_seconds(STALL_SECONDS).await;
    driver.until("a stall", stalled).await;
    pass_seconds(ABORT_SECONDS).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.count(stalled), run.count(aborted_as_stalled)), (1, 1), "{}", run.transcript());
    for name in names {
        let task = named(&run, name);
        match &task.last_outcome {
            Some(TaskOutcome::Failed { kind: FailKind::Stalled, .. }) => assert_eq!(name, "c"),
            outcome => assert_eq!(outcome, &Some(TaskOutcome::Completed), "{name}"),
        }
    }
    assert!(run.text().contains("showed no sign of life"), "{}", run.text());
}

#[tokio::test]
async fn an_aborted_agent_leaves_its_text_and_releases_its_slot_and_waiters() {
    let script = rules(&format!(
        "  - when: {{ path: /root/mute }}
    answer:
      - say: half a
      - hang: true
  - when: {{ agent: worker }}
    answer: [say: whole]
  - when: {{ turn: 1 }}
    answer:
{}  - answer: [say: 'told ${{answer}}']
",
        starts(&["mute", "next"], "sync")
    ));
    let limits = kernel::SessionLimits { live: 1, ..kernel::SessionLimits::default() };
    let mut driver = begin(scenario().script(&script).limits(limits)).await;
    driver.asked(2).await;
    pass_seconds(STALL_SECONDS).await;
    driver.until("a stall", stalled).await;
    pass_seconds(ABORT_SECONDS).await;
    driver.rest().await;
    let run = driver.leave().await;
    // The root waited all the time, which does not count as silence.
    assert_eq!((run.count(stalled), run.count(aborted_as_stalled)), (1, 1), "{}", run.transcript());
    let mute = named(&run, "mute");
    assert!(matches!(mute.state, TaskState::Finished { .. }), "{mute:?}");
    assert_eq!(mute.result.as_deref(), Some("half a"));
    assert_eq!(named(&run, "next").last_outcome, Some(TaskOutcome::Completed));
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    let answers = |event: &Event| match event {
        Event::CallAnswered { call, answer, .. } if call.0 == "mute" => answer.text.contains("half a"),
        _other => false,
    };
    assert_eq!(run.count(answers), 1, "{}", run.transcript());
}

#[tokio::test]
async fn a_stalled_agent_that_answers_continues() {
    let gate = Gate::says("here I am");
    let mut driver = begin(scenario().model(Arc::clone(&gate) as Arc<dyn Model>)).await;
    driver.asked(1).await;
    pass_seconds(STALL_SECONDS).await;
    driver.until("a stall", stalled).await;
    gate.open();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(aborted_as_stalled)), (Some(&TaskOutcome::Completed), 0));
}

#[tokio::test]
async fn a_stalled_agent_is_unmarked_at_its_next_text() {
    let script = rules(
        "  - answer:
      - wait: 6m
      - say: slow
      - wait: 2s
      - say: and sure
",
    );
    let mut driver = begin(scenario().script(&script)).await;
    driver.asked(1).await;
    pass_seconds(STALL_SECONDS).await;
    driver.until("a stall", stalled).await;
    pass_seconds(70).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.count(stalled), run.count(unstalled)), (1, 1), "{}", run.transcript());
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
}
