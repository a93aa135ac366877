//! Models that fail or give unusable answers.

use insta::assert_snapshot;
use protocol::{Event, FailKind, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use testkit::session::{PlayedSession, scenario};

use crate::support::rules;

async fn run(script: &str) -> PlayedSession {
    scenario().script(&rules(script)).file("a.txt", "x").prompt("go").run().await
}

fn failure(run: &PlayedSession) -> FailKind {
    match run.outcome() {
        Some(TaskOutcome::Failed { kind, .. }) => *kind,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_the_try_does_not_count_as_a_turn() {
    let script = rules(
        "  - when: { attempt: 1 }
    fail: { class: transient, message: busy }
  - when: { attempt: 2 }
    answer:
      - say: I was about to
      - cut: true
  - answer: [say: \"there at try ${attempt}\"]
",
    );
    let run = scenario().script(&script).max_turns(1).prompt("go").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_provider_that_names_a_time_is_asked_after_it() {
    let run = run("  - when: { attempt: ..2 }
    fail: { class: retry-after, after: 1ms, message: slow down }
  - answer: [say: here]
")
    .await;
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn what_cannot_work_is_not_tried_again_and_the_next_prompt_is() {
    let script = rules(
        "  - when: { prompt: terminal }
    fail: { class: terminal, message: no such model }
  - when: { prompt: auth }
    fail: { class: auth, message: key revoked }
  - answer: [say: fine]
",
    );
    let mut driver = scenario().script(&script).ready().open(SessionStart::New).await;
    for prompt in ["terminal", "auth", "other"] {
        driver.send(prompt, MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    let run = driver.leave().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn an_answer_that_reached_its_limit_is_none() {
    let run = run("  - answer:
      - say: And so on, and so
      - stop: length
")
    .await;
    assert_eq!(failure(&run), FailKind::NoAnswer);
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn an_empty_answer_does_not_count() {
    for answer in ["[]", "[think: hm]", "[say: '  ']"] {
        let run = run(&format!("  - answer: {answer}\n")).await;
        assert_eq!(failure(&run), FailKind::NoAnswer, "{answer}");
    }
}

#[tokio::test]
async fn a_model_that_hangs_can_be_interrupted_and_asked_again() {
    let script = rules(
        "  - when: { prompt: again }
    answer: [say: back]
  - answer:
      - say: half a
      - hang: true
",
    );
    let mut driver = scenario().script(&script).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    driver.interrupt().await;
    driver.rest().await;
    driver.send("again", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn an_unreadable_log_ends_the_activation_and_starts_no_other() {
    let stage = scenario().script(&rules("  - answer: [say: hello]\n")).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let file = stage.home().session_db(driver.id());
    let aside = file.with_extension("aside");
    std::fs::rename(&file, &aside).unwrap();
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    std::fs::rename(&aside, &file).unwrap();
    let run = driver.leave().await;
    assert!(matches!(run.outcome(), Some(TaskOutcome::Failed { .. })), "{:?}", run.outcome());
    assert_eq!(run.count(|event| matches!(event, Event::ActivationEnded { .. })), 1);
}
