//! Files that go back to what they were before a message.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - when: { prompt: make, answered: { tool: create } }
    answer: [ { say: Made. } ]
  - when: { prompt: make }
    answer:
      - call: { tool: create, input: { path: a.txt, content: \"one\\ntwo\\n\" } }
      - call: { tool: create, input: { path: b.txt, content: b } }
  - when: { prompt: change, answered: { tool: create } }
    answer: [ { say: Changed. } ]
  - when: { prompt: change }
    answer:
      - call: { tool: edit, input: { path: a.txt, old: two, new: three } }
      - call: { tool: edit, input: { path: b.txt, old: b, new: c } }
      - call: { tool: create, input: { path: deep/c.txt, content: c } }
  - answer: [ { say: 'You said: ${prompt}' } ]
";

const ARGS: [&str; 2] = ["--replay-user-messages", "--permission-mode=bypassPermissions"];

fn host_with(variables: &[(&str, &str)]) -> Arc<ClaudeTestHost> {
    ClaudeTestHost::with_variables(scenario().script(SCRIPT), variables)
}

fn host() -> Arc<ClaudeTestHost> {
    host_with(&[("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "true")])
}

/// Sends a message, and returns the id with which it is replayed.
async fn turn(client: &mut ClaudeTestClient, prompt: &str) -> Value {
    client.prompt(prompt).await;
    let replayed = client.next_matching(|frame| frame["isReplay"] == true).await;
    client.next_of_type("result").await;
    replayed["uuid"].clone()
}

async fn rewind(client: &mut ClaudeTestClient, message: &Value, dry_run: bool) -> Value {
    client.request(json!({ "subtype": "rewind_files", "user_message_id": message, "dry_run": dry_run })).await
}

fn path(host: &ClaudeTestHost, name: &str) -> PathBuf {
    host.fixture.path(name)
}

fn text(host: &ClaudeTestHost, name: &str) -> Option<String> {
    host.fixture.file(name)
}

#[tokio::test]
async fn files_are_rewound_to_a_message() {
    let host = host();
    let mut client = ClaudeTestClient::initialized(&host, &ARGS, json!({})).await;
    let make = turn(&mut client, "make").await;
    let change = turn(&mut client, "change").await;
    std::fs::write(path(&host, "b.txt"), "mine").unwrap();

    let dry = rewind(&mut client, &change, true).await["response"].clone();
    let changed = json!([path(&host, "a.txt"), path(&host, "deep/c.txt")]);
    assert_eq!((&dry["canRewind"], &dry["filesChanged"]), (&json!(true), &changed), "{dry}");
    assert_eq!((&dry["insertions"], &dry["deletions"]), (&json!(1), &json!(2)));
    assert_eq!(text(&host, "a.txt").unwrap(), "one\nthree\n", "a dry run changes nothing");

    let done = rewind(&mut client, &change, false).await["response"].clone();
    assert_eq!(done["filesChanged"], changed);
    assert!(done["error"].as_str().unwrap().contains("b.txt (it has changed since)"), "{done}");
    assert_eq!(text(&host, "a.txt").unwrap(), "one\ntwo\n");
    assert_eq!((text(&host, "b.txt").unwrap().as_str(), text(&host, "deep/c.txt")), ("mine", None));

    // A second rewind goes further back, and the conversation has stayed.
    let done = rewind(&mut client, &make, false).await["response"].clone();
    assert_eq!(done["filesChanged"], json!([path(&host, "a.txt")]));
    assert_eq!(text(&host, "a.txt"), None);
    turn(&mut client, "hello").await;
    let id = bosun_adapters::session_id(client.received.last().unwrap()["session_id"].as_str().unwrap()).unwrap();
    client.close().await;
    let last = host.fixture.model(id).requests().last().unwrap().messages.len();
    assert!(last > 6, "{last}");
}

#[tokio::test]
async fn a_resumed_session_rewinds_files_of_an_earlier_process() {
    let host = host();
    let mut client = ClaudeTestClient::initialized(&host, &ARGS, json!({})).await;
    let make = turn(&mut client, "make").await;
    let session = client.received.last().unwrap()["session_id"].as_str().unwrap().to_owned();
    client.close().await;
    for extra in [vec!["--fork-session".to_owned()], Vec::new()] {
        let resume = format!("--resume={session}");
        let args: Vec<&str> =
            ARGS.into_iter().chain([resume.as_str()]).chain(extra.iter().map(String::as_str)).collect();
        let mut client = ClaudeTestClient::initialized(&host, &args, json!({})).await;
        let dry = rewind(&mut client, &make, true).await["response"].clone();
        assert_eq!(dry["filesChanged"], json!([path(&host, "a.txt"), path(&host, "b.txt")]), "{extra:?}: {dry}");
        client.close().await;
    }
}

#[tokio::test]
async fn a_message_has_the_id_that_its_client_gave_it() {
    let host = host();
    let mut client = ClaudeTestClient::initialized(&host, &ARGS[1..], json!({})).await;
    let uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    client.send(json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": "make" } })).await;
    client.next_of_type("result").await;
    let done = rewind(&mut client, &json!(uuid), false).await;
    assert_eq!(done["response"]["filesChanged"], json!([path(&host, "a.txt"), path(&host, "b.txt")]), "{done}");
    assert_eq!(text(&host, "a.txt"), None);
    let unknown = rewind(&mut client, &json!("9f8fad5b-d9cb-469f-a165-70867728950e"), false).await;
    assert!(unknown["error"].as_str().unwrap().contains("has no message"), "{unknown}");
    client.close().await;
}

#[tokio::test]
async fn files_are_not_rewound_unless_the_client_asked_for_checkpoints() {
    let host = host_with(&[]);
    let mut client = ClaudeTestClient::initialized(&host, &ARGS, json!({})).await;
    let make = turn(&mut client, "make").await;
    let dry = rewind(&mut client, &make, true).await;
    assert_eq!(dry["response"]["canRewind"], false);
    let refused = rewind(&mut client, &make, false).await;
    assert!(refused["error"].as_str().unwrap().contains("not enabled"), "{refused}");
    assert!(text(&host, "a.txt").is_some());
    client.close().await;
}

#[tokio::test]
async fn a_deny_rule_holds_for_files_that_are_rewound() {
    let host = host();
    let mut client = ClaudeTestClient::initialized(&host, &ARGS, json!({})).await;
    let make = turn(&mut client, "make").await;
    let settings = json!({ "permissions": { "deny": ["Edit(a.txt)"] } });
    let applied = client.request(json!({ "subtype": "apply_flag_settings", "settings": settings })).await;
    assert_eq!(applied["subtype"], "success", "{applied}");
    let done = rewind(&mut client, &make, false).await["response"].clone();
    assert!(done["error"].as_str().unwrap().contains("a.txt (a rule forbids changing it)"), "{done}");
    assert_eq!((text(&host, "a.txt").is_some(), text(&host, "b.txt")), (true, None));
    client.close().await;
}
