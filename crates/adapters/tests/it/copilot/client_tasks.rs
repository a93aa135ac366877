//! Tasks that clients run themselves: registration, updates, cancellation, and what remains when the client leaves.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::CopilotTestClient;

const ECHO: &str = "
version: 1
rules:
  - answer: [{ say: 'You said: ${prompt}' }]
";

fn register_params(id: &str, expected: Option<u64>) -> Value {
    let mut params = json!({
        "sessionId": id,
        "type": "client",
        "clientTaskId": "build-1",
        "description": "builds the app",
        "displayName": "build",
        "cancellable": true,
    });
    if let Some(expected) = expected {
        params["expectedSequence"] = expected.into();
    }
    params
}

fn update_params(id: &str, sequence: u64, update: Value) -> Value {
    json!({ "sessionId": id, "id": "client:build-1", "sequence": sequence, "update": update })
}

async fn task(client: &mut CopilotTestClient, id: &str) -> Value {
    let listed = client.call("session.tasks.list", json!({ "sessionId": id })).await.unwrap();
    listed["tasks"].as_array().unwrap().first().cloned().unwrap_or_default()
}

#[tokio::test]
async fn client_task_is_registered_once_and_ends_once() {
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    let id = client.create_session(json!({})).await;
    let registered = client.call("session.tasks.register", register_params(&id, None)).await.unwrap();
    assert_eq!((&registered["created"], &registered["reclaimed"]), (&json!(true), &json!(false)));
    client.next_event("session.background_tasks_changed").await;
    let again = client.call("session.tasks.register", register_params(&id, Some(0))).await.unwrap();
    assert_eq!(again["created"], false);
    let progress = json!({ "kind": "progress", "phase": "link", "percentage": 49.6, "message": "linking" });
    let updated = client.call("session.tasks.update", update_params(&id, 1, progress.clone())).await.unwrap();
    assert_eq!((&updated["applied"], &updated["duplicate"]), (&json!(true), &json!(false)));
    let repeated = client.call("session.tasks.update", update_params(&id, 1, progress)).await.unwrap();
    assert_eq!((&repeated["applied"], &repeated["duplicate"]), (&json!(false), &json!(true)));
    let task_params = json!({ "sessionId": id, "id": "client:build-1" });
    let progress_view =
        client.call("session.tasks.getProgress", task_params.clone()).await.unwrap()["progress"].clone();
    assert_eq!(
        (&progress_view["phase"], &progress_view["percentage"], &progress_view["lastMessage"]),
        (&json!("link"), &json!(50), &json!("linking"))
    );
    assert_eq!(client.call("session.tasks.remove", task_params.clone()).await.unwrap()["removed"], false);
    let done = json!({ "kind": "completed", "result": { "ok": true } });
    client.call("session.tasks.update", update_params(&id, 2, done)).await.unwrap();
    let task = task(&mut client, &id).await;
    assert_eq!(
        (&task["status"], &task["result"], &task["sequence"]),
        (&json!("completed"), &json!({ "ok": true }), &json!(2))
    );
    for field in ["clientTaskId", "owner", "startedAt", "updatedAt", "completedAt", "activeTimeMs", "canCancel"] {
        assert!(!task[field].is_null(), "{field} of {task}");
    }
    let late =
        client.call("session.tasks.update", update_params(&id, 3, json!({ "kind": "cancelled" }))).await.unwrap_err();
    assert!(late["message"].as_str().unwrap().contains("has ended"), "{late}");
    assert_eq!(client.call("session.tasks.remove", task_params).await.unwrap()["removed"], true);
    client.close().await;
}

#[tokio::test]
async fn cancel_is_sent_to_the_owner_of_the_task() {
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    let id = client.create_session(json!({})).await;
    client.call("session.tasks.register", register_params(&id, None)).await.unwrap();
    let call = client.send_call("session.tasks.cancel", json!({ "sessionId": id, "id": "client:build-1" })).await;
    let cancel_request = client.next_request("tasks.cancel").await;
    assert_eq!(cancel_request["params"]["clientTaskId"], "build-1");
    assert!(cancel_request["params"]["cancellationId"].is_string() && cancel_request["params"]["reason"].is_string());
    client.answer(&cancel_request, json!({ "cancelled": true })).await;
    assert_eq!(client.response(call).await.unwrap(), json!({ "cancelled": true }));
    client.close().await;
}

#[tokio::test]
async fn returning_client_reclaims_its_orphaned_task() {
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    let stage = client.fixture();
    let id = client.create_session(json!({})).await;
    client.call("session.tasks.register", register_params(&id, None)).await.unwrap();
    client.call("session.tasks.update", update_params(&id, 4, json!({ "kind": "progress" }))).await.unwrap();
    client.close().await;
    let mut client = CopilotTestClient::on_fixture(stage);
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    let orphan = task(&mut client, &id).await;
    assert_eq!((&orphan["status"], &orphan["owner"]["presence"]), (&json!("orphaned"), &json!("disconnected")));
    assert!(orphan["orphanedAt"].is_string());
    let conflict = client.call("session.tasks.register", register_params(&id, Some(3))).await.unwrap_err();
    assert!(conflict["message"].as_str().unwrap().contains("at sequence 4"), "{conflict}");
    let reclaimed = client.call("session.tasks.register", register_params(&id, Some(4))).await.unwrap();
    assert_eq!((&reclaimed["reclaimed"], &reclaimed["task"]["status"]), (&json!(true), &json!("running")));
    assert!(reclaimed["task"]["reclaimedAt"].is_string());
    client
        .call("session.tasks.update", update_params(&id, 5, json!({ "kind": "failed", "error": "no disk" })))
        .await
        .unwrap();
    assert_eq!(task(&mut client, &id).await["error"], "no disk");
    client.close().await;
}

#[tokio::test]
async fn invalid_client_tasks_are_refused() {
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    let id = client.create_session(json!({})).await;
    let unknown = update_params(&id, 1, json!({ "kind": "progress" }));
    assert!(client.call("session.tasks.update", unknown).await.is_err());
    let mut nameless = register_params(&id, None);
    nameless["clientTaskId"] = "".into();
    assert_eq!(client.call("session.tasks.register", nameless).await.unwrap_err()["code"], -32602);
    client.call("session.tasks.register", register_params(&id, None)).await.unwrap();
    for wrong in [
        json!({}),
        json!({ "kind": "fly" }),
        json!({ "kind": "failed" }),
        json!({ "kind": "progress", "status": "done" }),
    ] {
        assert_eq!(
            client.call("session.tasks.update", update_params(&id, 9, wrong.clone())).await.unwrap_err()["code"],
            -32602,
            "{wrong}"
        );
    }
    let huge = json!({ "kind": "completed", "result": "x".repeat(300 * 1024) });
    assert!(client.call("session.tasks.update", update_params(&id, 9, huge)).await.is_err());
    client.close().await;
}
