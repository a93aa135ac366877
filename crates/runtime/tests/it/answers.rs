//! One agent that answers: its requests, and when it is done.

use insta::assert_snapshot;
use model::ModelMessage;
use protocol::{LimitKind, MailDelivery, TaskOutcome};
use runtime::SessionStart;
use testkit::session::scenario;

use crate::support::{rules, turns};

const TWO_TURNS: &str = "
    - - think: I should look.
      - say: I will look.
      - call: { tool: view, input: { path: a.txt } }
    - - say: It says hello.
";

#[tokio::test]
async fn a_plain_answer_is_one_turn() {
    let script = turns("    - - say: \"Hello to you.\"\n");
    let run = scenario().script(&script).prompt("hello").run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_tool_is_called_and_its_answer_is_read() {
    let run = scenario().script(&turns(TWO_TURNS)).file("a.txt", "hello\n").prompt("what is in a.txt?").run().await;
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_session_goes_on_where_its_last_prompt_ended() {
    let script = rules(
        "  - when: { prompt: first }
    answer: [say: one]
  - when: { said: one, prompt: second }
    answer: [say: two]
",
    );
    let mut driver = scenario().script(&script).ready().open(SessionStart::New).await;
    for prompt in ["first", "second"] {
        driver.send(prompt, MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn an_activation_ends_at_its_turn_limit_and_the_next_one_counts_from_zero() {
    let script = rules(
        "  - when: { prompt: again }
    answer: [say: done]
  - answer:
      - call: { tool: view, input: { path: a.txt } }
",
    );
    let mut driver = scenario().script(&script).file("a.txt", "x").max_turns(3).ready().open(SessionStart::New).await;
    driver.send("loop", MailDelivery::FollowUp).await;
    driver.rest().await;
    let outcome = driver.tasks()[0].last_outcome.clone();
    assert_eq!(outcome, Some(TaskOutcome::TimedOut { limit: LimitKind::Turns }));
    // The fourth request is the last turn, without tools.
    let requests = driver.model().requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[3].call_policy, model::ToolCallPolicy::Forbidden);
    driver.send("again", MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn the_users_instruction_files_are_in_the_first_request() {
    let stage = scenario()
        .script(&turns("    - - say: ok\n"))
        .file(".git/HEAD", "")
        .file("AGENTS.md", "Speak softly.")
        .file("CLAUDE.md", "Carry a stick.")
        .file(".github/copilot-instructions.md", "Be kind.")
        .ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("hi", MailDelivery::FollowUp).await;
    driver.rest().await;
    let requests = driver.model().requests();
    let system = stage.plain(&requests[0].system);
    let instructions = system.split_once("Working directory").unwrap().1;
    assert_snapshot!(instructions);
    assert_eq!(requests[0].messages[..], [ModelMessage::user("hi")]);
    driver.leave().await;
}

#[tokio::test]
async fn every_request_starts_with_the_bytes_of_the_previous_one_even_across_owners() {
    let script = rules(
        "  - when: { prompt: more }
    answer: [say: and more]
  - when: { turn: 1 }
    answer:
      - say: I will look.
      - call: { tool: view, input: { path: a.txt } }
  - answer: [say: seen]
",
    );
    let stage = scenario().script(&script).file("a.txt", "hello\n").file("AGENTS.md", "Be brief.").ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("look", MailDelivery::FollowUp).await;
    driver.rest().await;
    let id = driver.leave().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.send("more", MailDelivery::FollowUp).await;
    driver.rest().await;
    let bytes = |request: &model::ModelRequest| {
        let prefix = format!("{}{:?}", request.system, request.tools);
        prefix + &request.messages.iter().map(|message| format!("{message:?}")).collect::<String>()
    };
    let requests: Vec<String> = driver.model().requests().iter().map(bytes).collect();
    assert_eq!(requests.len(), 3);
    assert!(requests.windows(2).all(|pair| pair[1].starts_with(&pair[0])), "{requests:#?}");
    driver.leave().await;
}

#[tokio::test]
async fn the_turns_of_subagents_count_towards_the_limit() {
    let script = rules(
        "  - when: { agent: worker }
    answer:
      - call: { tool: view, input: { path: a.txt } }
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: worker, name: w, mode: sync } }
  - answer: [say: told]
",
    );
    let stage = scenario().script(&script).file("a.txt", "x").max_turns(5).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    // Five turns, and a last turn of each agent.
    assert_eq!(driver.model().requests().len(), 7);
    let limit = Some(TaskOutcome::TimedOut { limit: LimitKind::Turns });
    assert!(driver.tasks().iter().all(|task| task.last_outcome == limit));
}
