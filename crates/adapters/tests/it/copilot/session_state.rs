//! The state of a session and its conversation: names, files, events, context, and a history that is shortened or cut.

use protocol::PermissionMode;
use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::{CopilotTestClient, kinds};

const ECHO: &str = "
version: 1
rules:
  - when: { prompt: 'hang' }
    answer: [{ say: I wait. }, { hang: true }]
  - answer: [{ say: 'You said: ${prompt}' }]
";

async fn client_with_session() -> (CopilotTestClient, String) {
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    let id = client.create_session(json!({ "streaming": true })).await;
    (client, id)
}

async fn say(client: &mut CopilotTestClient, id: &str, prompt: &str) {
    client.call("session.sendAndWait", json!({ "sessionId": id, "prompt": prompt })).await.unwrap();
    client.events_until("session.idle").await;
}

async fn history(client: &mut CopilotTestClient, id: &str) -> Vec<Value> {
    let history = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap();
    history["events"].as_array().unwrap().clone()
}

fn event_of<'a>(events: &'a [Value], kind: &str, content: &str) -> &'a Value {
    let is_it = |event: &&Value| event["type"] == kind && event["data"]["content"] == content;
    events.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} `{content}` in {events:?}"))
}

#[tokio::test]
async fn a_conversation_is_cut_before_a_message() {
    let (mut client, id) = client_with_session().await;
    for prompt in ["one", "two", "three"] {
        say(&mut client, &id, prompt).await;
    }
    let before = history(&mut client, &id).await;
    let points = client.call("session.history.listRewindPoints", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(points["points"].as_array().unwrap().len(), 3);
    let second = event_of(&before, "user.message", "two")["id"].clone();
    let cut = client.call("session.history.truncate", json!({ "sessionId": id, "eventId": second })).await.unwrap();
    let removed = usize::try_from(cut["eventsRemoved"].as_u64().unwrap()).unwrap();
    assert_eq!(client.next_event("session.snapshot_rewind").await["data"]["eventsRemoved"], cut["eventsRemoved"]);
    assert_eq!(history(&mut client, &id).await, before[..before.len() - removed]);
    let context = client.call("session.metadata.getContextHeaviestMessages", json!({ "sessionId": id })).await.unwrap();
    let labels: Vec<_> = context["messages"].as_array().unwrap().iter().map(|message| &message["label"]).collect();
    assert_eq!(labels, ["You said: one", "one"], "the model does not get the rest");
    say(&mut client, &id, "four").await;
    let answer = event_of(&before, "assistant.message", "You said: one")["id"].clone();
    let refused = client.call("session.history.truncate", json!({ "sessionId": id, "eventId": answer })).await;
    assert!(refused.unwrap_err()["message"].as_str().unwrap().contains("not a message of the user"));

    // Another process reads the same.
    let after = history(&mut client, &id).await;
    let stage = client.fixture();
    client.close().await;
    let mut client = CopilotTestClient::on_fixture(stage);
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(history(&mut client, &id).await[..after.len()], after);
    say(&mut client, &id, "five").await;
    client.close().await;
}

const WRITER: &str = "
version: 1
rules:
  - when: { prompt: 'make', answered: { tool: create } }
    answer: [{ say: Made. }]
  - when: { prompt: 'make' }
    answer:
      - call: { tool: create, input: { path: a.txt, content: \"one\\ntwo\\n\" } }
      - call: { tool: create, input: { path: b.txt, content: \"b\\n\" } }
  - answer: [{ say: 'You said: ${prompt}' }]
";

#[tokio::test]
async fn files_go_back_with_the_conversation() {
    let mut client = CopilotTestClient::start(scenario().script(WRITER).mode(PermissionMode::AllowAll));
    let id = client.create_session(json!({ "enableFileChangeTracking": true })).await;
    let stage = client.fixture();
    say(&mut client, &id, "hello").await;
    say(&mut client, &id, "make").await;
    std::fs::write(stage.path("b.txt"), "mine").unwrap();
    let points = client.call("session.history.listRewindPoints", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(points["fileChangeTrackingEnabled"], true);
    let [hello, make] = points["points"].as_array().unwrap().as_slice() else { panic!("{points}") };
    assert_eq!((&hello["fileCount"], &hello["turnChangedFiles"]), (&json!(2), &json!(false)));
    assert_eq!(
        (&make["fileCount"], &make["turnChangedFiles"], &make["canRestoreFiles"]),
        (&json!(2), &json!(true), &json!(true))
    );
    assert_eq!((&make["userMessage"], &make["linesAdded"]), (&json!("make"), &json!(2)));
    let event = json!({ "sessionId": id, "eventId": make["eventId"] });
    let preview = client.call("session.history.previewRewind", event.clone()).await.unwrap();
    let file = json!({ "path": stage.path("a.txt"), "changeType": "created", "linesAdded": 2, "linesRemoved": 0 });
    assert_eq!(preview, json!({ "available": true, "fileCount": 1, "files": [file] }));
    let mut rewind = event;
    rewind["mode"] = json!("conversation-and-files");
    let rewound = client.call("session.history.rewind", rewind).await.unwrap();
    assert_eq!((&rewound["outcome"], &rewound["restoredFiles"]), (&json!("success"), &json!([stage.path("a.txt")])));
    let changed = json!([{ "path": stage.path("b.txt"), "reason": "user-modified" }]);
    assert_eq!(rewound["skippedFiles"], changed, "it is named, and stays");
    assert!(stage.file("a.txt").is_none());
    assert_eq!(stage.file("b.txt").unwrap(), "mine");
    let left = history(&mut client, &id).await;
    assert!(left.iter().all(|event| event["data"]["content"] != "make"), "{left:?}");
    client.close().await;
}

#[tokio::test]
async fn a_fork_ends_before_a_message() {
    let (mut client, id) = client_with_session().await;
    client.call("session.log", json!({ "sessionId": id, "message": "noted" })).await.unwrap();
    say(&mut client, &id, "one").await;
    say(&mut client, &id, "two").await;
    let events = history(&mut client, &id).await;
    let second = event_of(&events, "user.message", "two")["id"].clone();
    let forked = client.call("sessions.fork", json!({ "sessionId": id, "toEventId": second })).await.unwrap();
    let copy = forked["sessionId"].as_str().unwrap().to_owned();
    client.call("session.resume", json!({ "sessionId": copy })).await.unwrap();
    let copied = history(&mut client, &copy).await;
    event_of(&copied, "assistant.message", "You said: one");
    assert!(copied.iter().any(|event| event["data"]["message"] == "noted"), "{copied:?}");
    assert!(!copied.iter().any(|event| event["data"]["content"] == "two"), "{copied:?}");
    let unknown = client.call("sessions.fork", json!({ "sessionId": id, "toEventId": "nothing" })).await.unwrap_err();
    assert!(unknown["message"].as_str().unwrap().contains("Event nothing not found"), "{unknown}");
    client.close().await;
}

#[tokio::test]
async fn a_compacted_conversation_is_a_checkpoint() {
    let (mut client, id) = client_with_session().await;
    let list = |id: &str| json!({ "sessionId": id });
    let none = client.call("session.workspaces.listCheckpoints", list(&id)).await.unwrap();
    assert_eq!(none["checkpoints"], json!([]));
    for number in 0..8 {
        say(&mut client, &id, &format!("prompt {number}: {}", "word ".repeat(400))).await;
    }
    let compacted = client.call("session.history.compact", list(&id)).await.unwrap();
    assert_eq!(compacted["success"], true);
    assert!(compacted["messagesRemoved"].as_u64().unwrap() > 0, "{compacted}");
    assert!(compacted["tokensRemoved"].as_u64().unwrap() > 0, "{compacted}");
    let summary = &compacted["summaryContent"];
    let read = client.call("session.workspaces.readCheckpoint", json!({ "sessionId": id, "number": 1 })).await.unwrap();
    assert_eq!(&read["content"], summary);
    let missing = json!({ "sessionId": id, "number": 2 });
    assert_eq!(client.call("session.workspaces.readCheckpoint", missing).await.unwrap()["content"], Value::Null);
    let handoff = client.call("session.history.summarizeForHandoff", list(&id)).await.unwrap();
    assert!(handoff["summary"].as_str().unwrap().contains("**User:** prompt 7"), "{handoff}");
    client.close().await;
}

#[tokio::test]
async fn names_and_files_of_a_session_are_events() {
    let (mut client, id) = client_with_session().await;
    let call = |method: &str, mut params: Value| {
        params["sessionId"] = id.clone().into();
        (method.to_owned(), params)
    };
    let empty = call("session.name.set", json!({ "name": " \n" }));
    assert!(client.call(&empty.0, empty.1).await.unwrap_err()["message"].as_str().unwrap().contains("empty"));
    for (name, applied) in [("first", true), ("second", true)] {
        let (method, params) = call("session.name.setAuto", json!({ "summary": format!(" {name} ") }));
        assert_eq!(client.call(&method, params).await.unwrap()["applied"], applied);
        assert_eq!(client.next_event("session.title_changed").await["data"]["title"], name);
    }
    let (method, params) = call("session.name.set", json!({ "name": "mine" }));
    client.call(&method, params).await.unwrap();
    let (method, params) = call("session.name.setAuto", json!({ "summary": "other" }));
    assert_eq!(client.call(&method, params).await.unwrap()["applied"], false);

    for operation in ["create", "update"] {
        let (method, params) = call("session.workspaces.createFile", json!({ "path": "a/b.md", "content": "x" }));
        client.call(&method, params).await.unwrap();
        let changed = client.next_event("session.workspace_file_changed").await;
        assert_eq!(changed["data"], json!({ "path": "a/b.md", "operation": operation }));
    }
    let (method, params) = call("session.workspaces.createFile", json!({ "path": "../b.md", "content": "x" }));
    let outside = client.call(&method, params).await.unwrap_err();
    assert!(outside["message"].as_str().unwrap().contains("workspace files directory"), "{outside}");
    let (method, params) = call("session.workspaces.saveLargePaste", json!({ "content": "long" }));
    let saved = client.call(&method, params).await.unwrap()["saved"].clone();
    let (method, params) = call("session.workspaces.readFile", json!({ "path": saved["filename"] }));
    assert_eq!(client.call(&method, params).await.unwrap()["content"], "long");
    let workspace = client.call("session.workspaces.getWorkspace", json!({ "sessionId": id })).await.unwrap();
    assert_eq!((&workspace["workspace"]["id"], &workspace["workspace"]["name"]), (&json!(id), &json!("mine")));
    let events = history(&mut client, &id).await;
    assert_eq!(kinds(&events), ["session.start"]);
    assert_eq!(events.iter().filter(|event| event["type"] == "session.workspace_file_changed").count(), 2);
    client.close().await;
}

#[tokio::test]
async fn events_are_read_in_pages_and_waited_for() {
    let (mut client, id) = client_with_session().await;
    say(&mut client, &id, "one").await;
    let read = |params: Value| {
        let mut params = params;
        params["sessionId"] = id.clone().into();
        params
    };
    let all = history(&mut client, &id).await;
    let first = client.call("session.eventLog.read", read(json!({ "max": 2 }))).await.unwrap();
    assert_eq!(first["events"].as_array().unwrap(), &all[..2]);
    assert_eq!((&first["hasMore"], &first["cursorStatus"]), (&json!(true), &json!("ok")));
    let rest = client.call("session.eventLog.read", read(json!({ "cursor": first["cursor"] }))).await.unwrap();
    assert_eq!(rest["events"].as_array().unwrap(), &all[2..]);
    let last = client.call("session.eventLog.read", read(json!({ "max": 1, "direction": "backward" }))).await.unwrap();
    assert_eq!(last["events"].as_array().unwrap(), &all[all.len() - 1..]);
    let tail = client.call("session.eventLog.tail", read(json!({}))).await.unwrap()["cursor"].clone();
    let waiting = json!({ "cursor": tail, "waitMs": 20_000, "types": ["session.title_changed"] });
    let waiting = client.send_call("session.eventLog.read", read(waiting)).await;
    client.call("session.name.set", read(json!({ "name": "new" }))).await.unwrap();
    let renamed = client.response(waiting).await.unwrap();
    assert_eq!(renamed["events"][0]["data"]["title"], "new");
    let invalid = client.call("session.eventLog.read", read(json!({ "cursor": "7" }))).await.unwrap_err();
    assert!(invalid["message"].as_str().unwrap().contains("`cursor` is not valid"), "{invalid}");
    client.close().await;
}

#[tokio::test]
async fn the_parts_of_the_context_are_counted() {
    let (mut client, id) = client_with_session().await;
    say(&mut client, &id, "one").await;
    let params = json!({ "sessionId": id, "promptTokenLimit": 1000, "outputTokenLimit": 10 });
    let info = client.call("session.metadata.contextInfo", params).await.unwrap()["contextInfo"].clone();
    let number = |name: &str| info[name].as_u64().unwrap();
    assert!(number("systemTokens") > 0 && number("conversationTokens") > 0 && number("toolDefinitionsTokens") > 0);
    let total = number("systemTokens") + number("conversationTokens") + number("toolDefinitionsTokens");
    assert_eq!((number("totalTokens"), number("limit")), (total, 1010));
    let tools = client.call("session.tools.getCurrentMetadata", json!({ "sessionId": id })).await.unwrap();
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"bash") && !names.contains(&"shell"), "{names:?}");
    assert_eq!(
        client.call("session.metadata.isProcessing", json!({ "sessionId": id })).await.unwrap()["processing"],
        false
    );
    client.close().await;
}

#[tokio::test]
async fn only_the_tools_that_a_client_makes_available_are_in_the_request() {
    let mut client = CopilotTestClient::start(scenario().script(ECHO));
    let names = async |client: &mut CopilotTestClient, params: Value| {
        let id = client.create_session(params).await;
        let tools = client.call("session.tools.getCurrentMetadata", json!({ "sessionId": id })).await.unwrap();
        let names = tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let session = |n: u32, mut params: Value| {
        params["sessionId"] = format!("session-{n}").into();
        params["tools"] = json!([{ "name": "mine" }, { "name": "secret" }]);
        params
    };
    let some = names(&mut client, session(1, json!({ "availableTools": ["view", "bash", "custom:mine"] }))).await;
    assert_eq!(some, ["view", "bash", "mine"]);
    let others = names(
        &mut client,
        session(2, json!({ "excludedTools": ["view"], "defaultAgent": { "excludedTools": ["secret"] } })),
    )
    .await;
    assert!(others.contains(&"edit".to_owned()) && others.contains(&"mine".to_owned()), "{others:?}");
    assert!(!others.contains(&"view".to_owned()) && !others.contains(&"secret".to_owned()), "{others:?}");
    client.close().await;
}

#[tokio::test]
async fn a_suspended_session_is_resumed_with_its_conversation() {
    let (mut client, id) = client_with_session().await;
    say(&mut client, &id, "one").await;
    client.call("session.send", json!({ "sessionId": id, "prompt": "hang" })).await.unwrap();
    client.next_event("assistant.message_delta").await;
    client.call("session.suspend", json!({ "sessionId": id })).await.unwrap();
    client.call("session.detach", json!({ "sessionId": id })).await.unwrap();
    client.call("session.resume", json!({ "sessionId": id })).await.unwrap();
    let resumed = client.next_event("session.resume").await;
    assert_eq!(
        (&resumed["data"]["sessionWasActive"], &resumed["data"]["continuePendingWork"]),
        (&json!(false), &json!(false))
    );
    say(&mut client, &id, "two").await;
    event_of(&history(&mut client, &id).await, "assistant.message", "You said: one");
    client.close().await;
}

#[tokio::test]
async fn a_session_that_is_shut_down_reports_what_it_used() {
    let (mut client, id) = client_with_session().await;
    say(&mut client, &id, "one").await;
    client.call("session.shutdown", json!({ "sessionId": id, "type": "routine" })).await.unwrap();
    let report = client.next_event("session.shutdown").await["data"].clone();
    assert_eq!(report["shutdownType"], "routine");
    assert!(!report["modelMetrics"].as_object().unwrap().is_empty(), "{report}");
    client.close().await;
}

#[tokio::test]
async fn attachments_are_part_of_the_event_of_their_message() {
    let (mut client, id) = client_with_session().await;
    let attachments = json!([
        { "type": "file", "path": "/no/such/file", "displayName": "a.txt", "lineRange": { "start": 1, "end": 2 } },
        { "type": "blob", "data": "d29yZHM=", "mimeType": "text/plain", "displayName": "b.txt" },
    ]);
    let prompt = json!({ "sessionId": id, "prompt": "look", "attachments": attachments });
    client.call("session.sendAndWait", prompt).await.unwrap();
    let live = client.next_event("user.message").await["data"]["attachments"].clone();
    assert_eq!(live[0], attachments[0]);
    assert_eq!(
        live[1],
        json!({ "type": "blob", "mimeType": "text/plain", "displayName": "b.txt" }),
        "without its data"
    );
    let events = history(&mut client, &id).await;
    assert_eq!(event_of(&events, "user.message", "look")["data"]["attachments"], live);
    client.close().await;
}

#[tokio::test]
async fn a_client_reads_only_sessions_that_it_has_joined() {
    let (mut client, id) = client_with_session().await;
    client.call("session.detach", json!({ "sessionId": id })).await.unwrap();
    let refused = client.call("session.getMessages", json!({ "sessionId": id })).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("Session not found"), "{refused}");
    client.close().await;
}

#[tokio::test]
async fn the_reasoning_effort_changes_with_the_model_or_alone() {
    let (mut client, id) = client_with_session().await;
    let params = |effort: &str| json!({ "sessionId": id, "reasoningEffort": effort });
    let set = client.call("session.model.setReasoningEffort", params("high")).await.unwrap();
    assert_eq!(set["reasoningEffort"], "high");
    assert_eq!(client.next_event("session.model_change").await["data"]["reasoningEffort"], "high");
    let current = client.call("session.model.getCurrent", json!({ "sessionId": id })).await.unwrap();
    assert_eq!(current["reasoningEffort"], "high");
    let unknown = client.call("session.model.setReasoningEffort", params("extreme")).await.unwrap_err();
    assert!(unknown["message"].as_str().unwrap().contains("unknown reasoning effort"), "{unknown}");
    client.close().await;
}
