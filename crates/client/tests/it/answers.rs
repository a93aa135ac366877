//! Answers from a session's file.

use bosun_client::{ClientError, SessionHandle, answer_from_reader};
use protocol::api::{
    AnswerSource, METHODS, Method, NewTodo, Nothing, PlanParams, RefusalKind, SessionView, SessionWaitEnd,
    SessionWaitParams, TaskParams, TasksPage, TasksParams, calls,
};
use protocol::{MailDelivery, SessionId, TaskId};
use serde_json::{Value, json};
use store::SessionReader;
use testkit::session::{SessionFixture, SessionStart, scenario};

/// Two calls that wait for the user.
const ASKS: &str = "
version: 1
about: For a test
rules:
  - when: { turn: 1 }
    answer:
      - call: { id: c0, tool: shell, input: { command: echo 0 >> witness } }
      - call: { id: c1, tool: shell, input: { command: echo 1 >> witness } }
  - answer: [say: done]
";

const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);

fn params_of(method: Method, root: TaskId) -> Value {
    match method {
        Method::TasksGet | Method::TasksOutput | Method::TasksWait => json!({ "task": root }),
        _other => json!({}),
    }
}

/// What the session's file answers.
fn file_answer(stage: &SessionFixture, id: SessionId, method: Method, params: Value) -> Result<Value, ClientError> {
    answer_from_reader(stage.home(), SessionReader::open(stage.home(), id).unwrap(), method, params)
}

#[tokio::test]
async fn an_owner_and_the_file_give_the_same_answers() {
    let stage = scenario().script(ASKS).ask_wait(None).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let session = driver.session().handle().clone();
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until_status("the asks", |status| status.asks == 2).await;
    let todo = NewTodo { title: "write it".into(), ..NewTodo::default() };
    let added = session.call::<calls::TodosAdd>(&todo, TIMEOUT).await.unwrap();
    session.call::<calls::PlanUpdate>(&PlanParams { text: "first, think".into() }, TIMEOUT).await.unwrap();
    let root = driver.session().root();

    let (client, _notifications) = session.connect().await.unwrap();
    for spec in METHODS.iter().filter(|spec| spec.source == AnswerSource::File) {
        let from_owner: Value = client.call(spec.method, params_of(spec.method, root)).await.unwrap();
        let from_file = file_answer(&stage, driver.id(), spec.method, params_of(spec.method, root)).unwrap();
        assert_eq!(from_owner, from_file, "{}", spec.name);
        assert_ne!(from_file, json!({}), "{}", spec.name);
    }
    assert_eq!(session.call::<calls::PlanRead>(&Nothing {}, TIMEOUT).await.unwrap().text.unwrap(), "first, think");
    let todos = session.call::<calls::TodosList>(&Default::default(), TIMEOUT).await.unwrap().todos;
    assert_eq!(todos, [added]);
    assert_eq!(session.call::<calls::AsksList>(&Default::default(), TIMEOUT).await.unwrap().total, 2);
    driver.leave().await;
}

/// Whoever calls just then gets the answer of the file, as soon as that is released.
#[tokio::test]
async fn a_session_that_is_being_closed_is_waited_for() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let session = SessionHandle::new(stage.home(), driver.id());
    // As a process that has closed its socket, and has not released the file.
    std::fs::remove_file(stage.home().socket(driver.id())).unwrap();
    let params = SessionWaitParams::default();
    let mut call = std::pin::pin!(session.call::<calls::SessionWait>(&params, TIMEOUT));
    let early = tokio::time::timeout(std::time::Duration::from_millis(100), &mut call).await;
    assert!(early.is_err(), "the process runs the session: {early:?}");
    let (waited, _run) = tokio::join!(call, driver.leave());
    assert_eq!(waited.unwrap().end, SessionWaitEnd::Quiet);
}

#[tokio::test]
async fn a_session_that_rests_answers_what_its_file_says_and_nothing_else() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let root = driver.session().root();
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let id = driver.leave().await.id();
    for spec in METHODS {
        let answer = file_answer(&stage, id, spec.method, params_of(spec.method, root));
        match spec.source {
            AnswerSource::File | AnswerSource::OwnerFirst => {
                drop(answer.unwrap_or_else(|error| panic!("{}: {error}", spec.name)))
            }
            AnswerSource::Owner | AnswerSource::Command => {
                assert!(matches!(answer, Err(ClientError::NotRunning(of)) if of == id), "{}: {answer:?}", spec.name);
            }
            AnswerSource::Home | AnswerSource::Host | AnswerSource::Settings => {
                assert!(matches!(answer, Err(ClientError::WrongScope(_))), "{}: {answer:?}", spec.name);
            }
        }
    }
    let session = SessionHandle::new(stage.home(), id);
    let SessionView { owner_pid, .. } = session.call::<calls::SessionGet>(&Nothing {}, TIMEOUT).await.unwrap();
    assert_eq!(owner_pid, None);
    let interrupted = session.call::<calls::SessionInterrupt>(&Nothing {}, TIMEOUT).await;
    assert!(matches!(interrupted, Err(ClientError::NotRunning(_))), "{interrupted:?}");
}

#[tokio::test]
async fn wrong_questions_are_refused_with_a_kind() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let id = driver.leave().await.id();
    let kind = |method, params: Value| match file_answer(&stage, id, method, params) {
        Err(ClientError::Refused(refused)) => refused.refusal_kind(),
        other => panic!("{other:?}"),
    };
    let unknown = serde_json::to_value(TaskParams { task: TaskId::new(uuid::Uuid::nil()) }).unwrap();
    assert_eq!(kind(Method::TasksGet, unknown.clone()), Some(RefusalKind::NoTask));
    assert_eq!(kind(Method::TasksOutput, unknown), Some(RefusalKind::NoTask));
    assert_eq!(kind(Method::TasksList, json!({ "state": "asleep" })), Some(RefusalKind::Invalid));
    assert_eq!(kind(Method::TasksGet, json!({ "task": 7 })), None, "bad parameters have their own code");
    let page = file_answer(&stage, id, Method::TasksList, json!({ "limit": u64::MAX })).unwrap();
    let all = SessionHandle::new(stage.home(), id).tasks(&TasksParams::all_tasks()).unwrap();
    assert_eq!(serde_json::from_value::<TasksPage>(page).unwrap(), all);
}
