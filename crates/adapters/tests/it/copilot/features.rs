//! What clients use of a session besides its conversation: permissions, forms, commands, canvases.

use protocol::SkillSpec;
use serde_json::{Value, json};
use testkit::session::{Scenario, scenario};

use super::client::{CopilotTestClient, kinds};

const SCRIPT: &str = "
version: 1
rules:
  - when: { answered: { matches: '(?s)(.*)' } }
    answer: [{ say: 'Then: ${1}' }]
  - when: { prompt: 'write (.*)' }
    answer: [{ call: { tool: create, input: { path: '${1}', content: x } } }]
  - answer: [{ say: 'You said: ${prompt}' }]
";

fn test_scenario() -> Scenario {
    scenario().script(SCRIPT).ask_wait(None)
}

fn of(id: &str, fields: Value) -> Value {
    let mut params = fields;
    params["sessionId"] = id.into();
    params
}

#[tokio::test]
async fn rules_that_a_client_adds_apply_until_it_removes_them() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let rule = json!([{ "kind": "write", "argument": null }]);
    client.call("session.permissions.modifyRules", of(&id, json!({ "scope": "session", "add": rule }))).await.unwrap();
    client.call("session.send", of(&id, json!({ "prompt": "write a.txt" }))).await.unwrap();
    let events = client.events_until("session.idle").await;
    assert!(!kinds(&events).contains(&"permission.requested"), "{:?}", kinds(&events));
    client.call("session.permissions.resetSessionApprovals", of(&id, json!({}))).await.unwrap();
    client.call("session.send", of(&id, json!({ "prompt": "write b.txt" }))).await.unwrap();
    let request = client.next_event("permission.requested").await["data"]["requestId"].clone();
    let pending = client.call("session.permissions.pendingRequests", of(&id, json!({}))).await.unwrap();
    assert_eq!(pending["items"][0]["requestId"], request);
    assert_eq!(pending["items"][0]["request"]["kind"], "write");
    client.close().await;
}

#[tokio::test]
async fn denied_rules_deny_even_if_a_client_approves_everything() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let rules = json!({ "approved": [], "denied": [{ "kind": "write", "argument": null }] });
    let wanted = json!({ "rules": rules, "approveAllToolPermissionRequests": true });
    client.call("session.permissions.configure", of(&id, wanted)).await.unwrap();
    let mode = client.call("session.permissions.getMode", of(&id, json!({}))).await.unwrap();
    assert_eq!(mode["mode"], "allow-all");
    client.call("session.send", of(&id, json!({ "prompt": "write a.txt" }))).await.unwrap();
    let events = client.events_until("session.idle").await;
    let done = events.iter().find(|event| event["type"] == "tool.execution_complete").unwrap();
    assert_eq!(done["data"]["success"], false, "{done}");
    client.close().await;
}

#[tokio::test]
async fn a_client_is_told_that_the_user_rejected_a_call() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    client.call("session.send", of(&id, json!({ "prompt": "write a.txt" }))).await.unwrap();
    let request = client.next_event("permission.requested").await["data"]["requestId"].clone();
    let rejected = of(&id, json!({ "requestId": request, "result": { "kind": "reject" } }));
    client.call("session.permissions.handlePendingPermissionRequest", rejected).await.unwrap();
    let done = client.next_event("tool.execution_complete").await;
    let message = done["data"]["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("The user rejected this tool call."), "{message}");
    client.close().await;
}

#[tokio::test]
async fn folders_outside_those_of_the_session_are_not_added() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let folders = client.call("session.permissions.paths.list", of(&id, json!({}))).await.unwrap();
    let primary = folders["primary"].as_str().unwrap().to_owned();
    let inside = format!("{primary}/more");
    client.call("session.permissions.paths.add", of(&id, json!({ "path": inside }))).await.unwrap();
    let folders = client.call("session.permissions.paths.list", of(&id, json!({}))).await.unwrap();
    assert_eq!(folders["directories"], json!([primary, inside]));
    let refused = client.call("session.permissions.paths.add", of(&id, json!({ "path": "/" }))).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("additionalDirectories"), "{refused}");
    let unrestricted = json!({ "paths": { "unrestricted": true } });
    assert!(client.call("session.permissions.configure", of(&id, unrestricted)).await.is_err());
    let outside = of(&id, json!({ "path": "/etc/passwd" }));
    let allowed = client.call("session.permissions.paths.isPathWithinAllowedDirectories", outside).await.unwrap();
    assert_eq!(allowed["allowed"], false);
    client.close().await;
}

#[tokio::test]
async fn approvals_of_a_location_are_stored_and_applied() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let folder = tempfile::tempdir().unwrap();
    let place = json!({ "workingDirectory": folder.path() });
    let resolved = client.call("session.permissions.locations.resolve", of(&id, place.clone())).await.unwrap();
    assert_eq!(resolved["locationType"], "dir");
    let approval = json!({ "kind": "commands", "commandIdentifiers": ["make"] });
    let added = json!({ "locationKey": resolved["locationKey"], "approval": approval });
    client.call("session.permissions.locations.addToolApproval", of(&id, added)).await.unwrap();
    let applied = client.call("session.permissions.locations.apply", of(&id, place)).await.unwrap();
    assert_eq!(applied["appliedRules"], json!([{ "kind": "shell", "argument": "make" }]));
    client.close().await;
}

#[tokio::test]
async fn a_form_is_shown_by_a_client_that_can() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let form = of(&id, json!({ "message": "Sure?", "requestedSchema": { "type": "object", "properties": {} } }));
    let declined = client.call("session.ui.elicitation", form.clone()).await.unwrap();
    assert_eq!(declined["action"], "decline", "no client can show it");
    let resumed = client.call("session.resume", of(&id, json!({ "requestElicitation": true }))).await.unwrap();
    assert_eq!(resumed["capabilities"]["ui"]["elicitation"], true);
    let shown = client.send_call("session.ui.elicitation", form).await;
    let requested = client.next_event("elicitation.requested").await["data"].clone();
    assert_eq!((&requested["message"], &requested["mode"]), (&json!("Sure?"), &json!("form")));
    let result = json!({ "action": "accept", "content": { "sure": true } });
    let answer = of(&id, json!({ "requestId": requested["requestId"], "result": result }));
    assert_eq!(client.call("session.ui.handlePendingElicitation", answer.clone()).await.unwrap()["success"], true);
    assert_eq!(client.response(shown).await.unwrap(), result);
    assert_eq!(client.call("session.ui.handlePendingElicitation", answer).await.unwrap()["success"], false);
    client.close().await;
}

#[tokio::test]
async fn commands_of_a_client_are_executed_and_queued() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({ "commands": [{ "name": "deploy" }] })).await;
    let executed = of(&id, json!({ "commandName": "deploy", "args": "production" }));
    let executing = client.send_call("session.commands.execute", executed).await;
    let run = client.next_event("command.execute").await["data"].clone();
    assert_eq!((&run["commandName"], &run["args"]), (&json!("deploy"), &json!("production")));
    let failed = of(&id, json!({ "requestId": run["requestId"], "error": "no servers" }));
    client.call("session.commands.handlePendingCommand", failed).await.unwrap();
    let answer = client.response(executing).await.unwrap();
    assert!(answer["error"].as_str().unwrap().contains("no servers"), "{answer}");
    let unknown = of(&id, json!({ "commandName": "launch", "args": "" }));
    assert!(client.call("session.commands.execute", unknown).await.unwrap()["error"].is_string());
    let queued = client.call("session.commands.enqueue", of(&id, json!({ "command": "/deploy now" }))).await.unwrap();
    assert_eq!(queued["queued"], true);
    assert_eq!(client.next_event("command.execute").await["data"]["args"], "now");
    assert!(client.call("session.commands.enqueue", of(&id, json!({ "command": "hello" }))).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn a_canvas_is_opened_used_and_closed_by_its_client() {
    let mut client = CopilotTestClient::start(test_scenario());
    let canvas = json!({ "id": "counter", "displayName": "Counter", "description": "Counts." });
    let id = client.create_session(json!({ "canvases": [canvas] })).await;
    let listed = client.call("session.canvas.list", of(&id, json!({}))).await.unwrap();
    assert_eq!(listed["canvases"][0]["canvasId"], "counter");
    let instance = json!({ "canvasId": "counter", "instanceId": "one", "input": { "from": 1 } });
    let opening = client.send_call("session.canvas.open", of(&id, instance)).await;
    let request = client.next_request("canvas.open").await;
    assert_eq!((&request["params"]["sessionId"], &request["params"]["input"]["from"]), (&json!(id), &json!(1)));
    client.answer(&request, json!({ "title": "Counting", "url": "https://example.test" })).await;
    assert_eq!(client.response(opening).await.unwrap()["title"], "Counting");
    let action = of(&id, json!({ "instanceId": "one", "actionName": "add" }));
    let acting = client.send_call("session.canvas.action.invoke", action).await;
    let request = client.next_request("canvas.action.invoke").await;
    assert_eq!(request["params"]["actionName"], "add");
    client.answer(&request, json!({ "value": 2 })).await;
    assert_eq!(client.response(acting).await.unwrap(), json!({ "result": { "value": 2 } }));
    let closing = client.send_call("session.canvas.close", of(&id, json!({ "instanceId": "one" }))).await;
    let request = client.next_request("canvas.close").await;
    client.answer(&request, Value::Null).await;
    client.response(closing).await.unwrap();
    let open = client.call("session.canvas.listOpen", of(&id, json!({}))).await.unwrap();
    assert_eq!(open["openCanvases"], json!([]));
    let missing = of(&id, json!({ "canvasId": "chart", "instanceId": "two" }));
    assert!(client.call("session.canvas.open", missing).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn tasks_and_requests_that_do_not_exist_are_not_found() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let missing = of(&id, json!({ "id": "missing", "message": "hello", "requestId": "missing" }));
    for (method, field) in [
        ("session.tasks.promoteToBackground", "promoted"),
        ("session.tasks.cancel", "cancelled"),
        ("session.tasks.remove", "removed"),
        ("session.tasks.sendMessage", "sent"),
        ("session.ui.handlePendingSampling", "success"),
        ("session.ui.handlePendingAutoModeSwitch", "success"),
        ("session.ui.handlePendingSessionLimitsExhausted", "success"),
        ("session.mcp.headers.handlePendingHeadersRefreshRequest", "success"),
        ("session.mcp.cancelSamplingExecution", "cancelled"),
    ] {
        let answer = client.call(method, missing.clone()).await.unwrap();
        assert_eq!(answer[field], false, "{method}: {answer}");
    }
    client.close().await;
}

#[tokio::test]
async fn skills_are_listed_and_switched() {
    let skill = SkillSpec { name: "pdf".into(), description: "Reads PDFs.".into(), ..SkillSpec::default() };
    let mut client = CopilotTestClient::start(test_scenario().skill(skill));
    let id = client.create_session(json!({})).await;
    client.call("session.skills.ensureLoaded", of(&id, json!({}))).await.unwrap();
    client.call("session.skills.disable", of(&id, json!({ "name": "pdf" }))).await.unwrap();
    let listed = client.call("session.skills.list", of(&id, json!({}))).await.unwrap();
    assert_eq!((&listed["skills"][0]["name"], &listed["skills"][0]["enabled"]), (&json!("pdf"), &json!(false)));
    client.call("session.skills.enable", of(&id, json!({ "name": "pdf" }))).await.unwrap();
    let listed = client.call("session.skills.list", of(&id, json!({}))).await.unwrap();
    assert_eq!(listed["skills"][0]["enabled"], true);
    assert!(client.call("session.skills.enable", of(&id, json!({ "name": "none" }))).await.is_err());
    let invoked = client.call("session.skills.getInvoked", of(&id, json!({}))).await.unwrap();
    assert_eq!(invoked["skills"], json!([]));
    client.close().await;
}
