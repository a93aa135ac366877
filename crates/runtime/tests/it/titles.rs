//! Titles of sessions: a side question to a model, if the feature is enabled.

use protocol::api::TasksParams;
use protocol::{Budget, Event, MailDelivery, TaskForm, TaskOutcome, TaskState, TaskType, Timestamp};
use runtime::{SessionFeatures, SessionStart};
use store::SessionReader;
use testkit::session::{PlayedSession, Scenario, scenario};

use crate::support::rules;

fn titled(answers: &str) -> Scenario {
    let features = SessionFeatures { session_titles: true, ..SessionFeatures::default() };
    scenario().script(&rules(answers)).features(features)
}

const COUNTS: &str = "  - when: { agent: session-title, prompt: how many }
    answer: [say: '\"Counting the tests.\"']
  - answer: [say: There are 12.]
";

fn reader(run: &PlayedSession) -> SessionReader {
    SessionReader::open(run.stage().home(), run.id()).unwrap()
}

/// How the question for the title ended, if it was asked.
fn question(run: &PlayedSession) -> Option<TaskState> {
    let questions = TasksParams { kind: Some(TaskType::Question), ..TasksParams::default() };
    reader(run).tasks(&questions).unwrap().tasks.pop().map(|task| task.state)
}

fn completed() -> Option<TaskState> {
    Some(TaskState::Finished { outcome: TaskOutcome::Completed })
}

#[tokio::test]
async fn a_model_gives_the_session_its_title_in_a_hidden_task_that_costs_show() {
    let run = titled(COUNTS).prompt("how many tests are there?").run().await;
    assert_eq!((run.text(), question(&run)), ("There are 12.", completed()));
    assert_eq!(reader(&run).session_view().unwrap().title, "Counting the tests");
    assert!(run.tasks().iter().all(|task| task.kind.form() != TaskForm::Question), "lists leave it out");
    let spendings = reader(&run).spendings(Timestamp(0)).unwrap();
    let agents: Vec<(&str, u64)> = spendings.iter().map(|spent| (&*spent.agent, spent.turns)).collect();
    assert_eq!(agents, [("main", 1), ("session-title", 1)]);
    assert!(spendings.iter().all(|spent| spent.cost.tokens > 0), "{spendings:?}");
    let requests = run.stage().model(run.id()).requests();
    assert!(requests.iter().any(|request| request.tools.is_empty() && request.messages.len() == 1));
    let root_mail = run.count(|event| matches!(event, Event::MailAdmitted { .. }));
    assert_eq!(root_mail, 2, "the prompt and the question: its end wakes nobody");
}

#[tokio::test]
async fn without_the_feature_nothing_is_asked() {
    let run = scenario().script(&rules(COUNTS)).prompt("how many tests are there?").run().await;
    assert_eq!(question(&run), None);
    assert_eq!(reader(&run).session_view().unwrap().title, "how many tests are there?");
}

#[tokio::test]
async fn an_exhausted_budget_leaves_the_session_without_a_title_and_without_a_failure() {
    let spends = "  - when: { agent: session-title }
    answer: [say: Too late]
  - answer: [say: There are 12.]
    usage: { input: 39990 }
";
    let budget = Budget { tokens: Some(40_000), micros: None };
    let run = titled(spends).budget(budget).prompt("how many tests are there?").run().await;
    assert_eq!((run.text(), run.outcome()), ("There are 12.", Some(&TaskOutcome::Completed)));
    assert_eq!(question(&run), Some(TaskState::Finished { outcome: TaskOutcome::BudgetExhausted }));
    assert_eq!(reader(&run).session_view().unwrap().title, "how many tests are there?");
}

#[tokio::test]
async fn a_question_that_fails_leaves_the_session_as_it_is() {
    let fails = "  - when: { agent: session-title }
    fail: { class: terminal }
  - answer: [say: There are 12.]
";
    let run = titled(fails).prompt("how many tests are there?").run().await;
    assert_eq!((run.text(), run.outcome()), ("There are 12.", Some(&TaskOutcome::Completed)));
    assert!(matches!(question(&run), Some(TaskState::Finished { outcome: TaskOutcome::Failed { .. } })));
}

#[tokio::test]
async fn a_question_lost_in_a_crash_is_not_asked_again() {
    let hangs = "  - when: { agent: session-title }
    answer: [hang: true]
  - answer: [say: There are 12.]
";
    let stage = titled(hangs).ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("how many tests are there?", MailDelivery::FollowUp).await;
    driver.asked(2).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(question(&run), Some(TaskState::Finished { outcome: TaskOutcome::Lost }));
    assert_eq!(run.stage().model(id).requests().len(), 2, "nothing was asked twice");
    assert_eq!((run.text(), run.outcome()), ("There are 12.", Some(&TaskOutcome::Completed)));
}
