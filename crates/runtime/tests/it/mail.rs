//! Mail that arrives during a model request, during tool calls, and while the agent is idle.

use insta::assert_snapshot;
use protocol::{Event, MailDelivery};
use runtime::SessionStart;
use testkit::session::{SessionDriver, SessionFixture, scenario};

use crate::support::{Gate, UNTIL_GO, relay, rules, script, until_file};

/// A model that answers when the gate is opened, and then repeats its last prompt.
fn asking() -> (std::sync::Arc<Gate>, SessionFixture) {
    let gate = Gate::calls("view", "{\"path\":\"a.txt\"}");
    let then = script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n"));
    let stage = scenario().model(relay([gate.clone(), then])).file("a.txt", "hello\n").ready();
    (gate, stage)
}

async fn while_asking(delivery: MailDelivery) -> String {
    let (gate, stage) = asking();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    driver.send("news", delivery).await;
    gate.open();
    driver.rest().await;
    driver.leave().await.transcript()
}

#[tokio::test]
async fn steering_mail_is_read_after_the_turn_under_way() {
    assert_snapshot!(while_asking(MailDelivery::Steer).await);
}

#[tokio::test]
async fn a_follow_up_is_read_where_the_activation_would_end() {
    assert_snapshot!(while_asking(MailDelivery::FollowUp).await);
}

#[tokio::test]
async fn interrupting_mail_drops_the_question_and_is_read_at_once() {
    assert_snapshot!(while_asking(MailDelivery::Interrupt).await);
}

/// A session whose first call runs until there is a file called `go`, and whose second waits for it.
async fn acting() -> SessionDriver {
    let answers = rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ id: long, tool: shell, input: {{ command: 'touch began; {UNTIL_GO}; echo over' }} }}
      - call: {{ id: next, tool: shell, input: {{ command: echo next >> witness }} }}
  - answer: [say: \"heard: ${{prompt}}\"]
"
    ));
    let stage = scenario().script(&answers).allow_all().ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    until_file(&stage.path("began")).await;
    driver
}

#[tokio::test]
async fn steering_mail_waits_for_the_calls() {
    let mut driver = acting().await;
    driver.send("news", MailDelivery::Steer).await;
    std::fs::write(driver.stage().path("go"), "").unwrap();
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn interrupting_mail_cancels_the_calls_and_is_read_at_once() {
    let mut driver = acting().await;
    driver.send("news", MailDelivery::Interrupt).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.file("witness"), None);
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn an_interrupt_ends_the_activation_and_its_calls() {
    let mut driver = acting().await;
    driver.interrupt().await;
    driver.rest().await;
    driver.send("and now?", MailDelivery::Steer).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.file("witness"), None);
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_stop_ends_everything_and_a_prompt_opens_the_session_again() {
    let mut driver = acting().await;
    driver.stop().await.unwrap();
    driver.rest().await;
    driver.send("and now?", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn mail_of_every_kind_wakes_a_session_at_rest() {
    let stage = scenario().script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n")).ready();
    let mut driver = stage.open(SessionStart::New).await;
    for (text, delivery) in
        [("one", MailDelivery::Steer), ("two", MailDelivery::FollowUp), ("three", MailDelivery::Interrupt)]
    {
        driver.send(text, delivery).await;
        driver.rest().await;
    }
    // Nothing is under way: there is nothing to interrupt or stop.
    driver.interrupt().await;
    driver.stop().await.unwrap();
    driver.send("four", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn mail_between_two_tries_is_read_by_the_next() {
    let script = rules(
        "  - when: { attempt: 1 }
    fail: { class: transient, message: busy }
  - answer: [say: \"heard: ${prompt}\"]
",
    );
    let mut driver = scenario().script(&script).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a failed try", |event| matches!(event, Event::TurnFailed { .. })).await;
    driver.send("news", MailDelivery::Steer).await;
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

/// The provider asks to wait for most of a minute; the test's deadline is shorter.
#[tokio::test]
async fn interrupting_mail_does_not_wait_for_the_next_attempt() {
    let answers = rules(
        "  - when: { prompt: news }
    answer: [say: \"heard: ${prompt}\"]
  - fail: { class: retry-after, after: 55s, message: slow down }
",
    );
    let mut driver = scenario().script(&answers).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a failed try", |event| matches!(event, Event::TurnFailed { .. })).await;
    driver.send("news", MailDelivery::Interrupt).await;
    driver.rest().await;
    assert!(driver.leave().await.transcript().contains("heard: news"));
}
