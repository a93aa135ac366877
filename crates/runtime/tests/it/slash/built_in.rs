//! Built-in slash commands.

use protocol::{Event, MailDelivery, SessionMode};
use runtime::SessionStart;
use runtime::slash::SlashOutcome;
use testkit::session::scenario;

use super::{prompt, refused, shown_text};
use crate::support::rules;

const SAYS: &str = "  - answer: [say: \"answer ${turn}\"]\n";

#[tokio::test]
async fn commands_report_on_the_session_without_a_model() {
    let mut driver = scenario().script(&rules(SAYS)).ready().open(SessionStart::New).await;
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert!(shown_text(&driver, "/help").await.contains("/fleet [PROMPT]"));
    assert!(shown_text(&driver, "/agents").await.contains("worker: "));
    assert_eq!(shown_text(&driver, "/tasks").await, "/root (main): idle, 1 turn");
    assert_eq!(shown_text(&driver, "/todos").await, "there are no todos");
    assert!(shown_text(&driver, "/model").await.starts_with("the model is script/"));
    assert!(shown_text(&driver, "/cost").await.starts_with("turns: 1; tokens: "));
    assert!(shown_text(&driver, "/context").await.contains(" tokens: 2 messages, "));
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::TurnBegun { .. })), 1);
}

#[tokio::test]
async fn commands_that_start_agents_are_prompts() {
    let driver = scenario().ready().open(SessionStart::New).await;
    let review = prompt(&driver, "/review main..HEAD").await;
    assert_eq!(review.display, "/review main..HEAD");
    assert!(review.text.contains("`code-review` agent") && review.text.contains("main..HEAD"));
    assert!(prompt(&driver, "/review").await.text.contains("not committed"));
    assert!(prompt(&driver, "/security-review").await.text.contains("`security-review` agent"));
    let research = prompt(&driver, "/research tides").await.text;
    assert!(research.contains("`research` agent") && research.ends_with("Topic: tides"));
    assert_eq!(refused(&driver, "/research").await, "/research: name the topic");
    driver.leave().await;
}

#[tokio::test]
async fn an_invalid_command_is_refused_with_the_reason() {
    let driver = scenario().ready().open(SessionStart::New).await;
    for line in
        ["/help me", "/cost now", "/agent worker", "/agent nobody x", "/share", "/every 5m", "/subconscious run"]
    {
        assert!(!refused(&driver, line).await.is_empty(), "{line}");
    }
    assert_eq!(refused(&driver, "/hlep").await, "there is no /hlep; did you mean /help?");
    let outcome = driver.session().dispatch("/etc/hosts is odd").await;
    assert_eq!(outcome, SlashOutcome::NotACommand);
    assert!(refused(&driver, "/model a/b").await.starts_with("the model `a/b` cannot be used: "));
    let run = driver.leave().await;
    assert_eq!(run.tasks().len(), 1);
}

#[tokio::test]
async fn a_session_is_shared_as_a_new_file_only() {
    let stage = scenario().script(&rules(SAYS)).file("old.md", "mine").ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert!(shown_text(&driver, "/share page.md").await.ends_with("page.md"));
    assert!(stage.file("page.md").unwrap().contains("## User\n\nhello"));
    assert!(refused(&driver, "/share old.md").await.contains("cannot write"));
    assert_eq!(stage.file("old.md").as_deref(), Some("mine"));
    driver.leave().await;
}

#[tokio::test]
async fn a_conversation_is_compacted_on_request() {
    let long = rules("  - answer: [say: \"${repeat:All work and no play. :400}\"]\n");
    let mut driver = scenario().script(&long).ready().open(SessionStart::New).await;
    for word in ["one", "two", "three"] {
        driver.send(word, MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    assert_eq!(shown_text(&driver, "/compact").await, "a digest replaces the first 5 messages");
    assert_eq!(shown_text(&driver, "/compact").await, "the conversation is too short to compact");
    for word in ["four", "five"] {
        driver.send(word, MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::Compacted(_))), 1, "{}", run.transcript());
}

/// A6: `bosun -c -p /compact` leaves the session right after the command.
#[tokio::test]
async fn an_idle_conversation_is_compacted_at_once_and_stays_compacted() {
    let long = rules("  - answer: [say: \"${repeat:All work and no play. :400}\"]\n");
    let stage = scenario().script(&long).ready();
    let mut driver = stage.open(SessionStart::New).await;
    for word in ["one", "two", "three"] {
        driver.send(word, MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    shown_text(&driver, "/compact").await;
    let id = driver.leave().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.send("four", MailDelivery::FollowUp).await;
    driver.rest().await;
    let messages = driver.model().requests().last().unwrap().messages.len();
    let run = driver.leave().await;
    let causes: Vec<_> = run
        .events()
        .iter()
        .filter_map(|envelope| match &envelope.entry.event {
            Event::Compacted(compaction) => Some(compaction.cause),
            _other => None,
        })
        .collect();
    assert_eq!((messages, causes), (3, vec![protocol::CompactionCause::Requested]), "{}", run.transcript());
}

#[tokio::test]
async fn the_user_can_start_an_agent() {
    let script = rules("  - when: { agent: worker }\n    answer: [say: found]\n  - answer: [say: heard]\n");
    let mut driver = scenario().script(&script).ready().open(SessionStart::New).await;
    assert!(shown_text(&driver, "/agent worker find it").await.starts_with("/root/worker works in the background"));
    driver.until("its end", |event| matches!(event, Event::ActivationEnded { text, .. } if text == "found")).await;
    driver.rest().await;
    assert!(shown_text(&driver, "/tasks").await.contains("/root/worker (worker): "));
    assert_eq!(driver.leave().await.text(), "heard");
}

#[tokio::test]
async fn plan_and_autopilot_change_the_mode() {
    let driver = scenario().ready().open(SessionStart::New).await;
    let session = driver.session();
    for (line, mode, prompt) in [
        ("/plan", SessionMode::Plan, None),
        ("/plan port it", SessionMode::Plan, Some("port it")),
        ("/autopilot", SessionMode::Autopilot, None),
        ("/autopilot off", SessionMode::Interactive, None),
        ("/autopilot on", SessionMode::Autopilot, None),
        ("/autopilot port it", SessionMode::Autopilot, Some("port it")),
    ] {
        let text = match session.dispatch(line).await {
            SlashOutcome::Prompt(prompt) => Some(prompt.text),
            SlashOutcome::Done { .. } => None,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!((session.mode().await.unwrap(), text.as_deref()), (mode, prompt), "{line}");
    }
    driver.leave().await;
}
