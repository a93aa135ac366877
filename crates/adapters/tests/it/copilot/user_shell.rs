//! Commands of the user: `session.shell.*`.

use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::CopilotTestClient;

const SCRIPT: &str = "
version: 1
rules:
  - answer: [{ say: 'You said: ${prompt}' }]
";

fn of(id: &str, fields: Value) -> Value {
    let mut params = fields;
    params["sessionId"] = id.into();
    params
}

#[tokio::test]
async fn a_command_of_the_user_runs_to_its_end_and_is_part_of_the_history() {
    let mut client = CopilotTestClient::start(scenario().script(SCRIPT));
    let id = client.create_session(json!({})).await;
    let command = of(&id, json!({ "requestId": "r1", "command": "echo to-$((40 + 2)); exit 3" }));
    let done = client.call("session.shell.executeUserRequested", command).await.unwrap();
    assert_eq!((&done["success"], &done["exitCode"]), (&json!(false), &json!(3)), "{done}");
    assert!(done["output"].as_str().unwrap().contains("to-42"), "{done}");
    let history = client.call("session.getMessages", of(&id, json!({}))).await.unwrap();
    let of_call = |kind: &str| {
        let events = history["events"].as_array().unwrap();
        events.iter().find(|event| event["type"] == kind && event["data"]["toolCallId"] == done["toolCallId"]).cloned()
    };
    assert_eq!(of_call("tool.user_requested").unwrap()["data"]["toolName"], "bash");
    let completed = of_call("tool.execution_complete").unwrap();
    assert_eq!(completed["data"]["isUserRequested"], true);
    assert!(completed["data"]["result"]["content"].as_str().unwrap().contains("to-42"), "{completed}");
    let messages = history["events"].as_array().unwrap().iter();
    assert_eq!(messages.filter(|event| event["type"] == "user.message").count(), 0, "no model learns of it");
    client.close().await;
}

#[tokio::test]
async fn a_command_is_cancelled_killed_or_stopped_when_its_time_is_over() {
    let mut client = CopilotTestClient::start(scenario().script(SCRIPT));
    let id = client.create_session(json!({})).await;
    let unknown = of(&id, json!({ "requestId": "unknown" }));
    let missing = client.call("session.shell.cancelUserRequested", unknown).await.unwrap();
    assert_eq!(missing["cancelled"], false);

    let folder = tempfile::tempdir().unwrap();
    let long = of(&id, json!({ "command": "pwd; sleep 600", "cwd": folder.path(), "timeout": 600_000 }));
    let started = client.call("session.shell.exec", long).await.unwrap();
    let kill = of(&id, json!({ "processId": started["processId"] }));
    assert_eq!(client.call("session.shell.kill", kill.clone()).await.unwrap()["killed"], true);
    let wait = of(&id, json!({ "id": started["processId"], "waitMs": 20_000 }));
    client.call("session.tasks.readOutput", wait.clone()).await.unwrap();
    assert_eq!(client.call("session.shell.kill", kill).await.unwrap()["killed"], false, "it has ended");

    let slow = of(&id, json!({ "command": "sleep 600", "timeout": 1 }));
    let started = client.call("session.shell.exec", slow).await.unwrap();
    let wait = of(&id, json!({ "id": started["processId"], "waitMs": 20_000 }));
    let ended = client.call("session.tasks.readOutput", wait).await.unwrap();
    assert_eq!(ended["exit"]["status"], "cancelled", "{ended}");

    let nowhere = of(&id, json!({ "command": "true", "cwd": folder.path().join("none") }));
    let refused = client.call("session.shell.exec", nowhere).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("there is no folder"), "{refused}");
    let signal = of(&id, json!({ "processId": started["processId"], "signal": "SIGHUP" }));
    assert!(client.call("session.shell.kill", signal).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn what_a_rule_denies_the_user_cannot_run_either() {
    let mut client = CopilotTestClient::start(scenario().script(SCRIPT));
    let id = client.create_session(json!({})).await;
    let rules = json!({ "approved": [], "denied": [{ "kind": "shell", "argument": "touch" }] });
    client.call("session.permissions.configure", of(&id, json!({ "rules": rules }))).await.unwrap();
    let command = of(&id, json!({ "requestId": "r1", "command": "cd / && touch x" }));
    let refused = client.call("session.shell.executeUserRequested", command).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("denied"), "{refused}");
    client.close().await;
}
