//! A client that keeps a copy of its sessions' state.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::CopilotTestClient;

const SCRIPT: &str = "
version: 1
rules:
  - when: { answered: { matches: '(?s)(.*)' } }
    answer: [{ say: 'Then: ${1}' }]
  - when: { prompt: 'run (.*)' }
    answer: [{ call: { tool: sql, input: { query: '${1}' } } }]
  - answer: [{ say: 'You said: ${prompt}' }]
";

/// The files and statements that the client has received.
#[derive(Default)]
struct Kept {
    files: BTreeMap<String, String>,
    statements: Vec<(String, String)>,
}

impl Kept {
    /// Answers what the adapter asks of the client until this holds.
    async fn serve(&mut self, client: &mut CopilotTestClient, is_done: impl Fn(&Kept) -> bool) {
        while !is_done(self) {
            let request = client.next_request("sessionFs.").await;
            let answer = self.answer(&request);
            client.answer(&request, answer).await;
        }
    }

    fn answer(&mut self, request: &Value) -> Value {
        let params = &request["params"];
        let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        match request["method"].as_str().unwrap() {
            "sessionFs.writeFile" => {
                self.files.insert(text("path"), text("content"));
                Value::Null
            }
            "sessionFs.appendFile" => {
                self.files.entry(text("path")).or_default().push_str(&text("content"));
                Value::Null
            }
            "sessionFs.mkdir" => Value::Null,
            "sessionFs.exists" => {
                let path = text("path");
                json!({ "exists": self.files.keys().any(|known| known.starts_with(&path)) })
            }
            "sessionFs.readFile" => match self.files.get(&text("path")) {
                Some(content) => json!({ "content": content }),
                None => json!({ "content": "", "error": { "code": "ENOENT", "message": "no such file" } }),
            },
            "sessionFs.readdirWithTypes" => {
                let folder = format!("{}/", text("path"));
                let names = self.files.keys().filter_map(|path| path.strip_prefix(&folder));
                json!({ "entries": names.map(|name| json!({ "name": name, "type": "file" })).collect::<Vec<_>>() })
            }
            "sessionFs.sqliteQuery" => {
                self.statements.push((text("queryType"), text("query")));
                json!({ "rows": [], "columns": [], "rowsAffected": 0 })
            }
            other => panic!("{other}"),
        }
    }
}

fn of(id: &str, fields: Value) -> Value {
    let mut params = fields;
    params["sessionId"] = id.into();
    params
}

async fn client_with_files() -> CopilotTestClient {
    let mut client = CopilotTestClient::start(scenario().script(SCRIPT));
    let provider = json!({
        "initialCwd": "/", "sessionStatePath": "/state", "conventions": "posix", "capabilities": { "sqlite": true },
    });
    let set = client.call("sessionFs.setProvider", provider.clone()).await.unwrap();
    assert_eq!(set["success"], true);
    assert!(client.call("sessionFs.setProvider", provider).await.is_err(), "there is one already");
    client
}

#[tokio::test]
async fn the_client_gets_the_history_the_plan_and_the_workspace() {
    let (mut client, mut kept) = (client_with_files().await, Kept::default());
    let id = client.create_session(json!({})).await;
    kept.serve(&mut client, |kept| kept.files.contains_key("/state/checkpoints/index.md")).await;
    assert!(kept.files["/state/workspace.yaml"].contains(&format!("id: \"{id}\"")));
    client.call("session.send", of(&id, json!({ "prompt": "hello" }))).await.unwrap();
    kept.serve(&mut client, |kept| kept.files["/state/events.jsonl"].contains("You said: hello")).await;
    let plan = client.send_call("session.plan.update", of(&id, json!({ "content": "# Plan" }))).await;
    client.response(plan).await.unwrap();
    kept.serve(&mut client, |kept| kept.files.contains_key("/state/plan.md")).await;
    let events = &kept.files["/state/events.jsonl"];
    let lines: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "session.start");
    // The client gets the rest before it is told that it has left.
    let left = client.send_call("session.detach", of(&id, json!({}))).await;
    kept.serve(&mut client, |kept| kept.files["/state/events.jsonl"].contains("session.plan_changed")).await;
    client.response(left).await.unwrap();
    client.close().await;
}

#[tokio::test]
async fn files_of_the_workspace_are_at_the_client() {
    let (mut client, mut kept) = (client_with_files().await, Kept::default());
    let id = client.create_session(json!({})).await;
    kept.serve(&mut client, |kept| kept.files.contains_key("/state/checkpoints/index.md")).await;
    let file = of(&id, json!({ "path": "a/b.txt", "content": "hi" }));
    let creating = client.send_call("session.workspaces.createFile", file).await;
    kept.serve(&mut client, |kept| kept.files.contains_key("/state/files/a/b.txt")).await;
    client.response(creating).await.unwrap();
    let outside = of(&id, json!({ "path": "../b.txt", "content": "hi" }));
    assert!(client.call("session.workspaces.createFile", outside).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn the_database_of_the_client_follows_that_of_the_session() {
    let (mut client, mut kept) = (client_with_files().await, Kept::default());
    let id = client.create_session(json!({})).await;
    let prompt = "run CREATE TABLE items (id TEXT); INSERT INTO items VALUES (1)";
    client.call("session.send", of(&id, json!({ "prompt": prompt }))).await.unwrap();
    kept.serve(&mut client, |kept| kept.statements.len() == 4).await;
    let kinds: Vec<&str> = kept.statements.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["exec", "exec", "exec", "run"]);
    assert!(kept.statements[0].1.contains("todos") && kept.statements[3].1.starts_with("INSERT"));
    client.close().await;
}
