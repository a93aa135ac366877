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
async fn a_client_runs_queued_commands_itself() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let interest = of(&id, json!({ "eventType": "command.queued" }));
    let handle = client.call("session.eventLog.registerInterest", interest).await.unwrap()["handle"].clone();
    for command in ["/first", "/second", "/third"] {
        client.call("session.commands.enqueue", of(&id, json!({ "command": command }))).await.unwrap();
    }
    let offered = client.next_event("command.queued").await["data"].clone();
    assert_eq!(offered["command"], "/first");
    let removed = client.call("session.queue.removeMostRecent", of(&id, json!({}))).await.unwrap();
    assert_eq!(removed["removed"], true);
    let pending = client.call("session.queue.pendingItems", of(&id, json!({}))).await.unwrap();
    let items = pending["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["kind"], &items[0]["displayText"]), (1, &json!("command"), &json!("/second")));
    let result = json!({ "handled": true, "stopProcessingQueue": true });
    let answer = of(&id, json!({ "requestId": offered["requestId"], "result": result }));
    let answered = client.call("session.commands.respondToQueuedCommand", answer.clone()).await.unwrap();
    assert_eq!(answered["success"], true);
    let again = client.call("session.commands.respondToQueuedCommand", answer).await.unwrap();
    assert_eq!(again["success"], false, "it was answered");
    // The rest was dropped, so this one is next. Without a client that runs commands, Bosun does.
    client.call("session.eventLog.releaseInterest", of(&id, json!({ "handle": handle }))).await.unwrap();
    client.call("session.commands.enqueue", of(&id, json!({ "command": "/no-such-command" }))).await.unwrap();
    assert_eq!(client.next_event("command.queued").await["data"]["command"], "/no-such-command");
    let warning = client.next_event("session.warning").await["data"]["message"].clone();
    assert!(warning.as_str().unwrap().contains("no-such-command"), "{warning}");
    client.close().await;
}

#[tokio::test]
async fn a_question_outside_of_the_conversation_is_answered() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let answer = client.call("session.ui.ephemeralQuery", of(&id, json!({ "question": "which colour?" }))).await;
    assert_eq!(answer.unwrap()["answer"], "You said: which colour?");
    client.call("session.sendAndWait", of(&id, json!({ "prompt": "the sky" }))).await.unwrap();
    let answer = client.call("session.ui.ephemeralQuery", of(&id, json!({ "question": "which colour?" }))).await;
    let answer = answer.unwrap()["answer"].as_str().unwrap().to_owned();
    assert!(answer.contains("User: the sky") && answer.contains("You said: the sky"), "{answer}");
    let history = client.call("session.getMessages", of(&id, json!({}))).await.unwrap().to_string();
    assert!(!history.contains("colour"), "{history}");
    assert!(client.call("session.ui.ephemeralQuery", of(&id, json!({ "question": " " }))).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn the_headers_of_a_message_reach_the_requests_to_models() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let names = |client: &CopilotTestClient| -> Vec<String> {
        let headers = client.opener.turn_headers.lock().unwrap().current();
        headers.into_iter().map(|(name, _value)| name).collect()
    };
    let message = of(&id, json!({ "prompt": "hello", "requestHeaders": { "X-Team": "blue" } }));
    client.call("session.sendAndWait", message).await.unwrap();
    assert_eq!(names(&client), ["x-team"]);
    client.call("session.sendAndWait", of(&id, json!({ "prompt": "hello" }))).await.unwrap();
    assert!(names(&client).is_empty());
    let message = of(&id, json!({ "prompt": "hello", "requestHeaders": { "Authorization": "no" } }));
    assert!(client.call("session.send", message).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn clients_supply_tokens_for_providers_with_names() {
    let mut client = CopilotTestClient::start(test_scenario());
    let providers = json!([
        { "name": "alpha", "baseUrl": "https://a.invalid", "hasBearerTokenProvider": true },
        { "name": "beta", "baseUrl": "https://b.invalid", "apiKey": "sk" },
    ]);
    client.create_session(json!({ "providers": providers })).await;
    assert_eq!(*client.opener.token_providers.lock().unwrap(), ["alpha"]);
    client.close().await;
}

#[tokio::test]
async fn a_client_that_wants_telemetry_is_told_of_opened_sessions() {
    let mut client = CopilotTestClient::start(test_scenario());
    client.call("connect", json!({ "enableGitHubTelemetryForwarding": true })).await.unwrap();
    let id = client.create_session(json!({})).await;
    let told = client.until(|message| message["method"] == "gitHubTelemetry.event").await["params"].clone();
    assert_eq!((&told["sessionId"], &told["restricted"]), (&json!(id), &json!(false)));
    assert_eq!(told["event"]["kind"], "session.start");
    client.close().await;
}

#[tokio::test]
async fn a_change_of_remote_control_is_part_of_the_history() {
    let mut client = CopilotTestClient::start(test_scenario());
    let id = client.create_session(json!({})).await;
    let changed = of(&id, json!({ "remoteSteerable": true }));
    client.call("session.remote.notifySteerableChanged", changed).await.unwrap();
    assert_eq!(client.next_event("session.remote_steerable_changed").await["data"]["remoteSteerable"], true);
    let history = client.call("session.getMessages", of(&id, json!({}))).await.unwrap();
    let events = history["events"].as_array().unwrap();
    assert!(events.iter().any(|event| event["type"] == "session.remote_steerable_changed"), "{history}");
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
