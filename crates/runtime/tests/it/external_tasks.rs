//! Work that clients do themselves, as tasks of the session.

use protocol::api::{
    ClosedConnectionParams, ExternalTaskChange, ExternalTaskResult, Method, OutputResult, RegisterTaskParams,
    ReportTaskParams, StopTaskParams, TaskParams, TaskView, TasksPage, TasksParams,
};
use protocol::{CancelMode, ExternalTaskEnd, ExternalTaskId, ExternalTaskProgress, TaskId, TaskOutcome, TaskState};
use rpc::RpcClient;
use runtime::SessionStart;
use serde_json::{Value, json};
use store::SessionReader;
use testkit::session::{SessionDriver, SessionFixture, scenario};

use crate::support::rules;

const SAYS: &str = "  - answer: [say: hello]\n";

async fn connect(driver: &SessionDriver) -> RpcClient {
    RpcClient::connect(&driver.session().home().socket(driver.id())).await.unwrap().0
}

async fn register(client: &RpcClient, owner: &str, expected: Option<u64>) -> ExternalTaskResult {
    let (id, title, description) = (ExternalTaskId("build/1".into()), Some("build".into()), "builds the app".into());
    let params = RegisterTaskParams { id, title, description, cancellable: true, owner: owner.into(), expected };
    client.call(Method::TasksRegister, params).await.unwrap()
}

async fn report(client: &RpcClient, task: TaskId, sequence: u64, change: ExternalTaskProgress) -> ExternalTaskResult {
    let params = ReportTaskParams { task, owner: "a".into(), sequence, progress: vec![change] };
    client.call(Method::TasksReport, params).await.unwrap()
}

async fn external(client: &RpcClient) -> TaskView {
    let page: TasksPage = client.call(Method::TasksList, TasksParams::default()).await.unwrap();
    page.tasks.into_iter().find(|task| task.external.is_some()).unwrap()
}

#[tokio::test]
async fn every_view_shows_the_work_of_a_client_and_its_end_wakes_nobody() {
    let mut driver = scenario().script(&rules(SAYS)).ready().open(SessionStart::New).await;
    let client = connect(&driver).await;
    let ExternalTaskResult { task, change } = register(&client, "a", None).await;
    assert_eq!(change, ExternalTaskChange::Created);
    assert_eq!(
        register(&client, "a", Some(0)).await,
        ExternalTaskResult { task, change: ExternalTaskChange::Unchanged }
    );
    let view = external(&client).await;
    assert_eq!((view.id, &*view.path, &view.state), (task, "/root/build", &TaskState::Running));
    assert!(driver.session().status().borrow().quiet, "the session does not wait for it");
    let halfway = ExternalTaskProgress::Message { text: "two of four".into() };
    assert_eq!(report(&client, task, 1, halfway.clone()).await.change, ExternalTaskChange::Reported);
    assert_eq!(report(&client, task, 1, halfway).await.change, ExternalTaskChange::Unchanged);
    assert_eq!(external(&client).await.intent.as_deref(), Some("two of four"));
    let end = ExternalTaskEnd::Completed { result: Some(json!({ "ok": true })) };
    report(&client, task, 2, ExternalTaskProgress::Ended { end }).await;
    let view = external(&client).await;
    assert_eq!((view.state, view.result.as_deref()), (completed(), Some(r#"{"ok":true}"#)));
    let output: OutputResult = client.call(Method::TasksOutput, TaskParams { task }).await.unwrap();
    assert!(output.output.contains("two of four") && output.output.contains("ok"), "{}", output.output);
    let _: Value = client.call(Method::TasksForget, TaskParams { task }).await.unwrap();
    driver.rest().await;
    assert_eq!(driver.model().requests().len(), 0, "no model learns of it");
    driver.leave().await;
}

fn completed() -> TaskState {
    TaskState::Finished { outcome: TaskOutcome::Completed }
}

fn stored_state(stage: &SessionFixture, driver_id: protocol::SessionId, task: TaskId) -> TaskState {
    SessionReader::open(stage.home(), driver_id).unwrap().task(task).unwrap().unwrap().state
}

#[tokio::test]
async fn an_orphan_is_interrupted_until_a_client_claims_it_also_across_processes() {
    let stage = scenario().script(&rules(SAYS)).ready();
    let driver = stage.open(SessionStart::New).await;
    let client = connect(&driver).await;
    let task = register(&client, "a", None).await.task;
    report(&client, task, 3, ExternalTaskProgress::Idle).await;
    let gone = ClosedConnectionParams { owner: "a".into() };
    let _: Value = client.call(Method::TasksOrphan, gone).await.unwrap();
    assert_eq!(external(&client).await.state, TaskState::Interrupted);
    assert_eq!(register(&client, "b", Some(3)).await.change, ExternalTaskChange::Claimed);
    assert_eq!(external(&client).await.state, TaskState::Running);
    let id = driver.crash().await.id();
    assert_eq!(stored_state(&stage, id, task), TaskState::Interrupted, "without an owner");
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    let client = connect(&driver).await;
    assert_eq!(external(&client).await.state, TaskState::Interrupted, "nothing but a client can continue it");
    let stop = StopTaskParams { task, how: CancelMode::Abort };
    let _: Value = client.call(Method::TasksStop, stop).await.unwrap();
    assert!(matches!(external(&client).await.state, TaskState::Finished { outcome: TaskOutcome::Cancelled { .. } }));
    driver.leave().await;
}
