//! Tasks that clients run themselves: who may speak for one, what counts, and what is left when they go.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::Client;

const ECHO: &str = "
version: 1
rules:
  - answer: [{ say: 'You said: ${prompt}' }]
";

fn build(id: &str, expected: Option<u64>) -> Value {
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

fn update(id: &str, sequence: u64, update: Value) -> Value {
    json!({ "sessionId": id, "id": "client:build-1", "sequence": sequence, "update": update })
}

async fn task(client: &mut Client, id: &str) -> Value {
    let listed = client.call("session.tasks.list", json!({ "sessionId": id })).await.unwrap();
    listed["tasks"].as_array().unwrap().first().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_client_s_own_task_is_told_once_and_ends_once() {
    let mut client = Client::of(scenario().script(ECHO));
    let id = client.session(json!({})).await;
    let made = client.call("session.tasks.register", build(&id, None)).await.unwrap();
    assert_eq!((&made["created"], &made["reclaimed"]), (&json!(true), &json!(false)));
    client.event("session.background_tasks_changed").await;
    let again = client.call("session.tasks.register", build(&id, Some(0))).await.unwrap();
    assert_eq!(again["created"], false);
    let progress = json!({ "kind": "progress", "phase": "link", "percentage": 49.6, "message": "linking" });
    let told = client.call("session.tasks.update", update(&id, 1, progress.clone())).await.unwrap();
    assert_eq!((&told["applied"], &told["duplicate"]), (&json!(true), &json!(false)));
    let twice = client.call("session.tasks.update", update(&id, 1, progress)).await.unwrap();
    assert_eq!((&twice["applied"], &twice["duplicate"]), (&json!(false), &json!(true)));
    let of_task = json!({ "sessionId": id, "id": "client:build-1" });
    let shown = client.call("session.tasks.getProgress", of_task.clone()).await.unwrap()["progress"].clone();
    assert_eq!(
        (&shown["phase"], &shown["percentage"], &shown["lastMessage"]),
        (&json!("link"), &json!(50), &json!("linking"))
    );
    assert_eq!(client.call("session.tasks.remove", of_task.clone()).await.unwrap()["removed"], false);
    let done = json!({ "kind": "completed", "result": { "ok": true } });
    client.call("session.tasks.update", update(&id, 2, done)).await.unwrap();
    let task = task(&mut client, &id).await;
    assert_eq!(
        (&task["status"], &task["result"], &task["sequence"]),
        (&json!("completed"), &json!({ "ok": true }), &json!(2))
    );
    for field in ["clientTaskId", "owner", "startedAt", "updatedAt", "completedAt", "activeTimeMs", "canCancel"] {
        assert!(!task[field].is_null(), "{field} of {task}");
    }
    let late = client.call("session.tasks.update", update(&id, 3, json!({ "kind": "cancelled" }))).await.unwrap_err();
    assert!(late["message"].as_str().unwrap().contains("has ended"), "{late}");
    assert_eq!(client.call("session.tasks.remove", of_task).await.unwrap()["removed"], true);
    client.leave().await;
}

#[tokio::test]
async fn the_client_is_asked_to_cancel_its_own_task() {
    let mut client = Client::of(scenario().script(ECHO));
    let id = client.session(json!({})).await;
    client.call("session.tasks.register", build(&id, None)).await.unwrap();
    let waiting = client.begin("session.tasks.cancel", json!({ "sessionId": id, "id": "client:build-1" })).await;
    let asked = client.asked("tasks.cancel").await;
    assert_eq!(asked["params"]["clientTaskId"], "build-1");
    assert!(asked["params"]["cancellationId"].is_string() && asked["params"]["reason"].is_string());
    client.answer(&asked, json!({ "cancelled": true })).await;
    assert_eq!(client.answered(waiting).await.unwrap(), json!({ "cancelled": true }));
    client.leave().await;
}

#[tokio::test]
async fn a_client_that_comes_back_finds_its_task_orphaned_and_takes_it_up() {
    let mut client = Client::of(scenario().script(ECHO));
    let stage = client.stage();
    let id = client.session(json!({})).await;
    client.call("session.tasks.register", build(&id, None)).await.unwrap();
    client.call("session.tasks.update", update(&id, 4, json!({ "kind": "progress" }))).await.unwrap();
    client.leave().await;
    let mut client = Client::at(stage);
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    let orphan = task(&mut client, &id).await;
    assert_eq!((&orphan["status"], &orphan["owner"]["presence"]), (&json!("orphaned"), &json!("disconnected")));
    assert!(orphan["orphanedAt"].is_string());
    let moved = client.call("session.tasks.register", build(&id, Some(3))).await.unwrap_err();
    assert!(moved["message"].as_str().unwrap().contains("at sequence 4"), "{moved}");
    let taken = client.call("session.tasks.register", build(&id, Some(4))).await.unwrap();
    assert_eq!((&taken["reclaimed"], &taken["task"]["status"]), (&json!(true), &json!("running")));
    assert!(taken["task"]["reclaimedAt"].is_string());
    client.call("session.tasks.update", update(&id, 5, json!({ "kind": "failed", "error": "no disk" }))).await.unwrap();
    assert_eq!(task(&mut client, &id).await["error"], "no disk");
    client.leave().await;
}

#[tokio::test]
async fn what_is_no_task_of_a_client_is_refused() {
    let mut client = Client::of(scenario().script(ECHO));
    let id = client.session(json!({})).await;
    let unknown = update(&id, 1, json!({ "kind": "progress" }));
    assert!(client.call("session.tasks.update", unknown).await.is_err());
    let mut nameless = build(&id, None);
    nameless["clientTaskId"] = "".into();
    assert_eq!(client.call("session.tasks.register", nameless).await.unwrap_err()["code"], -32602);
    client.call("session.tasks.register", build(&id, None)).await.unwrap();
    for wrong in [
        json!({}),
        json!({ "kind": "fly" }),
        json!({ "kind": "failed" }),
        json!({ "kind": "progress", "status": "done" }),
    ] {
        assert_eq!(
            client.call("session.tasks.update", update(&id, 9, wrong.clone())).await.unwrap_err()["code"],
            -32602,
            "{wrong}"
        );
    }
    let huge = json!({ "kind": "completed", "result": "x".repeat(300 * 1024) });
    assert!(client.call("session.tasks.update", update(&id, 9, huge)).await.is_err());
    client.leave().await;
}
