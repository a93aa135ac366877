//! Tasks, fleets, modes, plans, agents and commands, as clients see and change them.

use protocol::{AgentSpec, DefinitionSource};
use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::CopilotTestClient;

const SUBAGENTS: &str = "
version: 1
rules:
  - when: { agent: reader, prompt: 'hang' }
    answer: [{ say: I wait. }, { hang: true }]
  - when: { agent: reader }
    answer: [{ say: 'I heard: ${prompt}' }]
  - when: { agent: poet }
    answer: [{ say: A verse. }]
  - when: { prompt: 'plan it', turn: 1 }
    answer:
      - call: { tool: sql, input: { query: \"INSERT INTO todos (id, title) VALUES ('a', 'first'), ('b', 'second'); INSERT INTO todo_deps (todo_id, depends_on) VALUES ('b', 'a')\" } }
  - answer: [{ say: 'You said: ${prompt}' }]
";

async fn open_session() -> (CopilotTestClient, String) {
    let poet = AgentSpec { name: "poet".into(), prompt: "You are a poet.".into(), ..AgentSpec::default() };
    let poet =
        AgentSpec { description: "writes verse".into(), user_invocable: true, source: DefinitionSource::Flag, ..poet };
    let mut client = CopilotTestClient::start(scenario().script(SUBAGENTS).agent(poet).allow_all());
    let id = client.create_session(json!({ "commands": [{ "name": "deploy", "description": "ships it" }] })).await;
    (client, id)
}

/// Starts an agent and returns its id.
async fn start_agent(client: &mut CopilotTestClient, id: &str, prompt: &str) -> String {
    let params = json!({ "sessionId": id, "agentType": "reader", "prompt": prompt, "name": "scout" });
    let started = client.call("session.tasks.startAgent", params).await.unwrap();
    started["agentId"].as_str().unwrap().to_owned()
}

async fn list_tasks(client: &mut CopilotTestClient, id: &str) -> Vec<Value> {
    let listed = client.call("session.tasks.list", json!({ "sessionId": id })).await.unwrap();
    listed["tasks"].as_array().unwrap().clone()
}

#[tokio::test]
async fn agent_is_started_listed_messaged_and_removed() {
    let (mut client, id) = open_session().await;
    let agent = start_agent(&mut client, &id, "look around").await;
    client.call("session.tasks.waitForPending", json!({ "sessionId": id })).await.unwrap();
    let listed = list_tasks(&mut client, &id).await;
    assert_eq!(listed.len(), 1);
    let task = &listed[0];
    for (field, value) in [
        ("type", json!("agent")),
        ("id", json!(agent)),
        ("toolCallId", json!(agent)),
        ("agentType", json!("reader")),
        ("displayName", json!("scout")),
        ("prompt", json!("look around")),
        ("status", json!("idle")),
        ("executionMode", json!("background")),
        ("latestResponse", json!("I heard: look around")),
        ("canPromoteToBackground", json!(false)),
    ] {
        assert_eq!(task[field], value, "{field} of {task}");
    }
    assert!(task["startedAt"].is_string() && task["description"].is_string());
    let more = json!({ "sessionId": id, "id": agent, "message": "and there" });
    assert_eq!(client.call("session.tasks.sendMessage", more).await.unwrap(), json!({ "sent": true }));
    client.call("session.tasks.waitForPending", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(list_tasks(&mut client, &id).await[0]["latestResponse"], "I heard: and there");
    let agent_params = json!({ "sessionId": id, "id": agent });
    let progress = client.call("session.tasks.getProgress", agent_params.clone()).await.unwrap();
    assert_eq!(progress["progress"]["type"], "agent");
    assert_eq!(client.call("session.tasks.remove", agent_params.clone()).await.unwrap(), json!({ "removed": false }));
    assert_eq!(client.call("session.tasks.cancel", agent_params.clone()).await.unwrap(), json!({ "cancelled": true }));
    client.call("session.tasks.waitForPending", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(client.call("session.tasks.remove", agent_params).await.unwrap(), json!({ "removed": true }));
    assert!(list_tasks(&mut client, &id).await.is_empty());
    client.close().await;
}

#[tokio::test]
async fn running_agent_is_stopped_and_unknown_ids_are_refused() {
    let (mut client, id) = open_session().await;
    let agent = start_agent(&mut client, &id, "hang").await;
    client.next_event("subagent.started").await;
    assert_eq!(list_tasks(&mut client, &id).await[0]["status"], "running");
    let agent_params = json!({ "sessionId": id, "id": agent });
    assert_eq!(client.call("session.tasks.cancel", agent_params).await.unwrap(), json!({ "cancelled": true }));
    client.call("session.tasks.waitForPending", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(list_tasks(&mut client, &id).await[0]["status"], "cancelled");
    let unknown_task = json!({ "sessionId": id, "id": "task-0190aaaa-0000-7000-8000-00000000ffff", "message": "hi" });
    let sent = client.call("session.tasks.sendMessage", unknown_task.clone()).await.unwrap();
    assert_eq!(sent["sent"], false, "{sent}");
    assert_eq!(client.call("session.tasks.cancel", unknown_task.clone()).await.unwrap(), json!({ "cancelled": false }));
    assert_eq!(client.call("session.tasks.getProgress", unknown_task).await.unwrap(), json!({ "progress": null }));
    let unknown = json!({ "sessionId": id, "agentType": "nobody", "prompt": "x", "name": "y" });
    let refused = client.call("session.tasks.startAgent", unknown).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("there is no agent"), "{refused}");
    client.close().await;
}

#[tokio::test]
async fn mode_changes_only_from_the_expected_one() {
    let (mut client, id) = open_session().await;
    let session_params = json!({ "sessionId": id });
    assert_eq!(client.call("session.mode.get", session_params.clone()).await.unwrap(), "interactive");
    let set = |mode: &str, expected: &str| json!({ "sessionId": id, "mode": mode, "expectedMode": expected });
    let conflict = client.call("session.mode.set", set("plan", "autopilot")).await.unwrap();
    assert_eq!(conflict["modeApplied"], false);
    let applied = client.call("session.mode.set", set("plan", "interactive")).await.unwrap();
    assert_eq!(applied["modeApplied"], true);
    let changed = client.next_event("session.mode_changed").await;
    assert_eq!(changed["data"], json!({ "previousMode": "interactive", "newMode": "plan" }));
    assert_eq!(client.call("session.mode.get", session_params.clone()).await.unwrap(), "plan");
    let objective = client.call("session.autopilotObjective.getState", session_params.clone()).await.unwrap();
    assert_eq!(objective, json!({ "state": null }));
    client.call("session.mode.set", json!({ "sessionId": id, "mode": "autopilot" })).await.unwrap();
    client.call("session.sendAndWait", json!({ "sessionId": id, "prompt": "tidy up" })).await.unwrap();
    let objective = client.call("session.autopilotObjective.getState", session_params).await.unwrap();
    assert_eq!(
        (&objective["state"]["objective"], &objective["state"]["status"]),
        (&json!("tidy up"), &json!("paused"))
    );
    assert!(client.call("session.mode.set", json!({ "sessionId": id, "mode": "fast" })).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn the_plan_and_its_todos_are_read_and_written() {
    let (mut client, id) = open_session().await;
    let session_params = json!({ "sessionId": id });
    let none = client.call("session.plan.read", session_params.clone()).await.unwrap();
    assert_eq!(none, json!({ "exists": false, "content": null, "path": null }));
    let plan = json!({ "sessionId": id, "content": "# One\n" });
    assert_eq!(client.call("session.plan.update", plan).await.unwrap(), Value::Null);
    assert_eq!(client.next_event("session.plan_changed").await["data"], json!({ "operation": "create" }));
    let read = client.call("session.plan.read", session_params.clone()).await.unwrap();
    assert_eq!((&read["exists"], &read["content"]), (&json!(true), &json!("# One\n")));
    assert_eq!(client.call("session.plan.delete", session_params.clone()).await.unwrap(), Value::Null);
    client.call("session.sendAndWait", json!({ "sessionId": id, "prompt": "plan it" })).await.unwrap();
    let todos = client.call("session.plan.readSqlTodosWithDependencies", session_params.clone()).await.unwrap();
    assert_eq!(todos["rows"][0], json!({ "id": "a", "title": "first", "status": "pending" }));
    assert_eq!(todos["dependencies"], json!([{ "todoId": "b", "dependsOn": "a" }]));
    let rows = client.call("session.plan.readSqlTodos", session_params).await.unwrap();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 2);
    client.close().await;
}

#[tokio::test]
async fn session_continues_as_the_selected_agent() {
    let (mut client, id) = open_session().await;
    let session_params = json!({ "sessionId": id });
    let default_agent = client.call("session.agent.getCurrent", session_params.clone()).await.unwrap();
    assert_eq!(default_agent, json!({ "agent": null }));
    let agents = client.call("session.agent.list", session_params.clone()).await.unwrap();
    assert!(agents["agents"].as_array().unwrap().iter().any(|agent| agent["name"] == "poet"), "{agents}");
    let selected = client.call("session.agent.select", json!({ "sessionId": id, "name": "poet" })).await.unwrap();
    assert_eq!(selected["agent"]["displayName"], "poet");
    assert_eq!(client.next_event("subagent.selected").await["data"]["agentName"], "poet");
    let say = json!({ "sessionId": id, "prompt": "hello" });
    let answer = client.call("session.sendAndWait", say.clone()).await.unwrap();
    assert_eq!(answer["response"]["data"]["content"], "A verse.");
    assert!(client.call("session.agent.select", json!({ "sessionId": id, "name": "nobody" })).await.is_err());
    let stage = client.fixture();
    client.close().await;
    let mut client = CopilotTestClient::on_fixture(stage);
    client.call("session.resume", session_params.clone()).await.unwrap();
    let current = client.call("session.agent.getCurrent", session_params.clone()).await.unwrap();
    assert_eq!(current["agent"]["name"], "poet");
    client.call("session.agent.deselect", session_params).await.unwrap();
    let answer = client.call("session.sendAndWait", say).await.unwrap();
    assert_eq!(answer["response"]["data"]["content"], "You said: hello");
    client.close().await;
}

#[tokio::test]
async fn commands_are_listed_and_client_commands_run_in_the_client() {
    let (mut client, id) = open_session().await;
    let listed = client.call("session.commands.list", json!({ "sessionId": id })).await.unwrap();
    let commands = listed["commands"].as_array().unwrap();
    let kind =
        |name: &str| commands.iter().find(|command| command["name"] == name).map(|command| command["kind"].clone());
    assert_eq!((kind("deploy"), kind("fleet")), (Some(json!("client")), Some(json!("builtin"))));
    let own = json!({ "sessionId": id, "name": "deploy", "input": "now" });
    let call = client.send_call("session.commands.invoke", own).await;
    let request = client.next_event("command.execute").await["data"].clone();
    assert_eq!((&request["commandName"], &request["args"]), (&json!("deploy"), &json!("now")));
    let done = json!({ "sessionId": id, "requestId": request["requestId"] });
    let completed = client.call("session.commands.handlePendingCommand", done.clone()).await.unwrap();
    assert_eq!(completed["success"], true);
    let answer = client.response(call).await.unwrap();
    assert_eq!(answer["kind"], "completed");
    let late = client.call("session.commands.handlePendingCommand", done).await.unwrap();
    assert_eq!(late["success"], true, "a command that is done is done");
    let prompt = json!({ "sessionId": id, "name": "review", "input": "" });
    let prompt = client.call("session.commands.invoke", prompt).await.unwrap();
    assert_eq!(prompt["kind"], "agent-prompt");
    let fleet = json!({ "sessionId": id, "name": "fleet", "input": "build" });
    let fleet = client.call("session.commands.invoke", fleet).await.unwrap();
    assert_eq!((&fleet["kind"], &fleet["message"]), (&json!("completed"), &json!("Fleet deployed: build")));
    client.close().await;
}

#[tokio::test]
async fn fleet_is_started_and_files_are_stored_with_the_session() {
    let (mut client, id) = open_session().await;
    let started = client.call("session.fleet.start", json!({ "sessionId": id, "prompt": "build", "wait": true }));
    assert_eq!(started.await.unwrap(), json!({ "started": true }));
    client.next_event("user.message").await;
    let file = json!({ "sessionId": id, "path": "notes/a.md", "content": "one" });
    assert_eq!(client.call("session.workspaces.createFile", file.clone()).await.unwrap(), Value::Null);
    let listed = client.call("session.workspaces.listFiles", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(listed, json!({ "files": ["notes/a.md"] }));
    assert_eq!(client.call("session.workspaces.readFile", file).await.unwrap(), json!({ "content": "one" }));
    let outside = json!({ "sessionId": id, "path": "../session.db" });
    assert!(client.call("session.workspaces.readFile", outside).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn every_published_method_is_served_or_unknown() {
    let (mut client, id) = open_session().await;
    for method in bosun_adapters::copilot::published_methods() {
        if matches!(
            method.name,
            "runtime.shutdown"
                | "session.detach"
                | "session.destroy"
                | "session.delete"
                | "session.shutdown"
                | "session.suspend"
        ) {
            assert!(method.is_served, "{}", method.name);
            continue;
        }
        let answer = client.call(method.name, json!({ "sessionId": id })).await;
        let is_unknown = answer.is_err_and(|error| error["code"] == -32601);
        assert_eq!(method.is_served, !is_unknown, "{}", method.name);
    }
    client.close().await;
}
