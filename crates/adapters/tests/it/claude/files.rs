//! Session files, in the places and the format that the Claude SDKs expect.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - when: { agent: worker }
    answer: [ { say: ten } ]
  - when: { prompt: count, turn: 1 }
    answer:
      - say: I ask.
      - call:
          id: c1
          tool: task
          input: { description: count, prompt: to ten, agent_type: worker, name: counter, mode: sync }
  - answer: [ { say: 'I heard ${prompt}' } ]
";

/// Every file below a folder, with its lines.
fn read_files(folder: &Path) -> Vec<(PathBuf, Vec<Value>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(read_files(&path));
        } else {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn test_host(folder: &TempDir) -> std::sync::Arc<ClaudeTestHost> {
    let scenario = scenario().script(SCRIPT);
    ClaudeTestHost::with_variables(scenario, &[("CLAUDE_CONFIG_DIR", folder.path().to_str().unwrap())])
}

/// Whether every line but the first names the one before it as its parent.
fn is_chain(lines: &[Value]) -> bool {
    lines[0]["parentUuid"].is_null() && lines.windows(2).all(|two| two[1]["parentUuid"] == two[0]["uuid"])
}

fn line_types(lines: &[Value]) -> Vec<String> {
    let block_type = |line: &Value| {
        let content = &line["message"]["content"];
        let kind = content[0]["type"].as_str().unwrap_or("words");
        format!("{} {kind}", line["type"].as_str().unwrap())
    };
    lines.iter().map(block_type).collect()
}

#[tokio::test]
async fn messages_are_written_to_files_and_resumed_sessions_append_to_them() {
    let folder = TempDir::new().unwrap();
    let test_host = test_host(&folder);
    let mut client = ClaudeTestClient::initialized(&test_host, &[], json!({})).await;
    client.prompt("count").await;
    let result = client.next_of_type("result").await;
    let id = result["session_id"].as_str().unwrap().to_owned();
    let assistant_frames: Vec<Value> =
        client.received.iter().filter(|frame| frame["type"] == "assistant").cloned().collect();
    let found = read_files(folder.path());
    assert_eq!(found.len(), 3, "{found:#?}");
    let (main, lines) = found.iter().find(|(path, _)| path.ends_with(format!("{id}.jsonl"))).unwrap();
    assert_eq!(main.parent().unwrap().parent().unwrap(), folder.path().join("projects"));
    let expected = ["user words", "assistant text", "assistant tool_use", "user tool_result", "assistant text"];
    assert_eq!(line_types(lines), expected);
    assert!(is_chain(lines) && lines.iter().all(|line| line["sessionId"] == *id && line["isSidechain"] == false));
    assert!(
        assistant_frames
            .iter()
            .any(|frame| frame["uuid"] == lines[1]["uuid"] && frame["message"]["id"] == lines[1]["message"]["id"])
    );
    let (_, agent) =
        found.iter().find(|(path, _)| path.extension().is_some_and(|end| end == "jsonl") && path != main).unwrap();
    assert_eq!(line_types(agent), ["user words", "assistant text"]);
    assert!(is_chain(agent) && agent[0]["isSidechain"] == true && agent[0]["message"]["content"] == "to ten");
    let (_, meta) = found.iter().find(|(path, _)| path.extension().is_some_and(|end| end == "json")).unwrap();
    assert_eq!((&meta[0]["toolUseId"], &meta[0]["agentType"]), (&json!("c1"), &json!("worker")));

    client.disconnect().await;
    // Simulate a killed adapter: half a line, and one entry fewer than in the log.
    let text = fs::read_to_string(main).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap();
    fs::write(main, &text[..cut + 20]).unwrap();
    let mut resumed = ClaudeTestClient::initialized(&test_host, &["--resume", &id], json!({})).await;
    resumed.prompt("more").await;
    resumed.next_of_type("result").await;
    let found = read_files(folder.path());
    let (_, lines) = found.iter().find(|(path, _)| path == main).unwrap();
    assert_eq!(line_types(lines).len(), 7, "{:#?}", line_types(lines));
    assert!(is_chain(lines));
    assert_eq!(found.len(), 3);
}

#[tokio::test]
async fn no_files_are_written_without_session_persistence() {
    let folder = TempDir::new().unwrap();
    let test_host = test_host(&folder);
    let mut client = ClaudeTestClient::initialized(&test_host, &["--no-session-persistence"], json!({})).await;
    client.prompt("hello").await;
    client.next_of_type("result").await;
    assert_eq!(read_files(folder.path()), []);
}

/// A client that stores sessions itself gets a copy of every entry, and of what is known about each agent.
#[tokio::test]
async fn a_client_with_a_store_gets_a_copy_of_every_entry() {
    let folder = TempDir::new().unwrap();
    let test_host = test_host(&folder);
    let mut client = ClaudeTestClient::initialized(&test_host, &["--session-mirror"], json!({})).await;
    client.prompt("count").await;
    let id = client.next_of_type("result").await["session_id"].as_str().unwrap().to_owned();
    let mirrored = |frames: &[Value]| -> Vec<(PathBuf, Vec<Value>)> {
        let mut files: Vec<(PathBuf, Vec<Value>)> = Vec::new();
        for frame in frames.iter().filter(|frame| frame["type"] == "transcript_mirror") {
            let path = PathBuf::from(frame["filePath"].as_str().unwrap());
            let entries = frame["entries"].as_array().unwrap().clone();
            match files.iter_mut().find(|(known, _)| *known == path) {
                Some((_, all)) => all.extend(entries),
                None => files.push((path, entries)),
            }
        }
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files
    };
    let copies = mirrored(&client.received);
    let written: Vec<_> = read_files(folder.path())
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    assert_eq!(copies.len(), written.len());
    for ((path, copied), (file, lines)) in copies.iter().zip(&written) {
        let (about, entries): (Vec<_>, Vec<_>) =
            copied.iter().cloned().partition(|entry| entry["type"] == "agent_metadata");
        assert_eq!((path, &entries), (file, lines));
        let is_agent = path.to_str().unwrap().contains("subagents");
        assert_eq!(about.first().map(|about| &about["toolUseId"]), is_agent.then_some(&json!("c1")));
    }

    client.disconnect().await;
    // What the store has already is not copied again.
    let args = ["--session-mirror", "--resume", &id];
    let mut resumed = ClaudeTestClient::initialized(&test_host, &args, json!({})).await;
    resumed.prompt("more").await;
    resumed.next_of_type("result").await;
    let (frames, _) = resumed.close().await;
    let [(_, added)] = &mirrored(&frames)[..] else { panic!("{frames:#?}") };
    assert_eq!(line_types(added), ["user words", "assistant text"]);
}
