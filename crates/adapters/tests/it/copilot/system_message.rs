//! What clients change of the session besides its conversation: sections of the system message, agents, providers.

use protocol::SessionId;
use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::{CopilotTestClient, kinds};

const ECHO: &str = "
version: 1
rules:
  - answer: [{ say: 'You said: ${prompt}' }]
";

const SESSION: &str = "ses-0190aaaa000070008000000000000001";

fn client() -> CopilotTestClient {
    CopilotTestClient::start(scenario().script(ECHO))
}

fn of(id: &str, fields: Value) -> Value {
    let mut params = fields;
    params["sessionId"] = id.into();
    params
}

/// The system prompt of the root's last request.
fn system_prompt(client: &CopilotTestClient) -> String {
    let id: SessionId = SESSION.parse().unwrap();
    client.fixture().model(id).requests().last().unwrap().system.to_string()
}

#[tokio::test]
async fn a_client_changes_and_rewrites_sections_of_the_system_message() {
    let mut client = client();
    let sections = json!({
        "tone": { "action": "transform" },
        "safety": { "action": "remove" },
        "guidelines": { "action": "replace", "content": "Plan first." },
        "mood": { "action": "append", "content": "Be glad." },
    });
    let message = json!({ "mode": "customize", "sections": sections, "content": "Be kind." });
    let id = client.create_session(json!({ "systemMessage": message })).await;
    client.call("session.send", of(&id, json!({ "prompt": "one" }))).await.unwrap();
    let request = client.next_request("systemMessage.transform").await;
    assert_eq!(request["params"]["sessionId"], id.as_str());
    let sent = request["params"]["sections"].as_object().unwrap();
    assert_eq!(sent.keys().collect::<Vec<_>>(), ["tone"]);
    assert!(sent["tone"]["content"].as_str().unwrap().contains("plain sentences"), "{sent:?}");
    client.answer(&request, json!({ "sections": { "tone": { "content": "Sing." } } })).await;
    client.next_event("session.idle").await;
    let system = system_prompt(&client);
    for text in ["Sing.\n", "Plan first.", "Be glad.\n\nBe kind.\n", "You are an agent in Bosun"] {
        assert!(system.contains(text), "{text}: {system}");
    }
    assert!(!system.contains("plain sentences") && !system.contains("end of data"), "{system}");
    // The client has rewritten it once.
    client.call("session.send", of(&id, json!({ "prompt": "two" }))).await.unwrap();
    client.next_event("session.idle").await;
    assert_eq!(system_prompt(&client), system);
    client.close().await;
}

#[tokio::test]
async fn a_turn_without_the_rewritten_section_is_not_begun() {
    let mut client = client();
    let message = json!({ "mode": "customize", "sections": { "safety": { "action": "transform" } } });
    let id = client.create_session(json!({ "systemMessage": message })).await;
    client.call("session.send", of(&id, json!({ "prompt": "one" }))).await.unwrap();
    let request = client.next_request("systemMessage.transform").await;
    client.answer(&request, json!({ "nothing": true })).await;
    let events = client.events_until("session.idle").await;
    assert!(!kinds(&events).contains(&"assistant.message"), "{:?}", kinds(&events));
    client.close().await;
}

#[tokio::test]
async fn a_client_adds_providers_while_the_session_runs() {
    let mut client = client();
    let id = client.create_session(json!({})).await;
    let provider = json!({ "name": "mine", "baseUrl": "https://h.test/v1", "apiKey": "sk-hidden-0123456789" });
    let model = json!({ "provider": "mine", "id": "m", "name": "My Model", "wireModel": "w" });
    let added = json!({ "providers": [provider], "models": [model] });
    let answer = client.call("session.provider.add", of(&id, added)).await.unwrap();
    assert_eq!((&answer["models"][0]["id"], &answer["models"][0]["name"]), (&json!("mine/m"), &json!("My Model")));
    let listed = client.call("session.model.list", of(&id, json!({}))).await.unwrap();
    assert!(listed["list"].as_array().unwrap().iter().any(|model| model["id"] == "mine/m"), "{listed}");
    let unknown = json!({ "models": [{ "provider": "other", "id": "m" }] });
    assert!(client.call("session.provider.add", of(&id, unknown)).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn agents_that_a_client_leaves_out_or_disables_are_not_offered() {
    let mut client = client();
    let id = client.create_session(json!({ "excludedBuiltinAgents": ["explore"] })).await;
    let types = |tools: Value| {
        let tools = tools["tools"].as_array().unwrap().clone();
        let task = tools.into_iter().find(|tool| tool["name"] == "task").unwrap();
        let types = task["input_schema"]["properties"]["agent_type"]["enum"].as_array().unwrap().clone();
        types.iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let current = |id: &str| of(id, json!({}));
    let before = types(client.call("session.tools.getCurrentMetadata", current(&id)).await.unwrap());
    assert!(!before.is_empty() && !before.contains(&"explore".to_owned()), "{before:?}");
    let settings = json!({ "subagents": { "disabledSubagents": [before[0]] } });
    client.call("session.tools.updateSubagentSettings", of(&id, settings)).await.unwrap();
    let after = types(client.call("session.tools.getCurrentMetadata", current(&id)).await.unwrap());
    assert_eq!(after, before[1..]);
    let cleared = json!({ "subagents": null });
    client.call("session.tools.updateSubagentSettings", of(&id, cleared)).await.unwrap();
    let odd = json!({ "subagents": { "agents": { "task": { "effortLevel": "huge" } } } });
    assert!(client.call("session.tools.updateSubagentSettings", of(&id, odd)).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn a_client_says_whose_session_it_is() {
    let mut client = client();
    let id = client.create_session(json!({})).await;
    let status = client.call("session.gitHubAuth.getStatus", of(&id, json!({}))).await.unwrap();
    assert_eq!(status["isAuthenticated"], false);
    let credentials = json!({ "type": "user", "host": "https://h.test", "login": "me", "token": "hidden" });
    let set = of(&id, json!({ "credentials": credentials }));
    assert_eq!(client.call("session.gitHubAuth.setCredentials", set).await.unwrap()["success"], true);
    let status = client.call("session.gitHubAuth.getStatus", of(&id, json!({}))).await.unwrap();
    assert_eq!((&status["login"], &status["authType"]), (&json!("me"), &json!("user")));
    assert!(!status.to_string().contains("hidden"), "{status}");
    let features = of(&id, json!({ "features": { "a": "b" } }));
    assert_eq!(client.call("session.telemetry.setFeatureOverrides", features).await.unwrap(), Value::Null);
    let engagement = client.call("session.telemetry.getEngagementId", of(&id, json!({}))).await.unwrap();
    assert_eq!(engagement, json!({}));
    client.close().await;
}
