//! Session files, as the family's own functions find and read them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::session::scenario;

use super::visit::{Inn, Visit};

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
fn files(folder: &Path) -> Vec<(PathBuf, Vec<Value>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn inn(folder: &TempDir) -> std::sync::Arc<Inn> {
    let scenario = scenario().script(SCRIPT);
    Inn::knowing(scenario, &[("CLAUDE_CONFIG_DIR", folder.path().to_str().unwrap())])
}

/// That every line but the first names the one before it.
fn is_chain(lines: &[Value]) -> bool {
    lines[0]["parentUuid"].is_null() && lines.windows(2).all(|two| two[1]["parentUuid"] == two[0]["uuid"])
}

fn words(lines: &[Value]) -> Vec<String> {
    let word = |line: &Value| {
        let content = &line["message"]["content"];
        let kind = content[0]["type"].as_str().unwrap_or("words");
        format!("{} {kind}", line["type"].as_str().unwrap())
    };
    lines.iter().map(word).collect()
}

#[tokio::test]
async fn what_was_said_is_in_files_and_a_resumed_session_goes_on_in_them() {
    let folder = TempDir::new().unwrap();
    let inn = inn(&folder);
    let mut visit = Visit::greeted(&inn, &[], json!({})).await;
    visit.prompt("count").await;
    let result = visit.until_type("result").await;
    let id = result["session_id"].as_str().unwrap().to_owned();
    let shown: Vec<Value> = visit.seen.iter().filter(|frame| frame["type"] == "assistant").cloned().collect();
    let found = files(folder.path());
    assert_eq!(found.len(), 3, "{found:#?}");
    let (main, lines) = found.iter().find(|(path, _)| path.ends_with(format!("{id}.jsonl"))).unwrap();
    assert_eq!(main.parent().unwrap().parent().unwrap(), folder.path().join("projects"));
    let expected = ["user words", "assistant text", "assistant tool_use", "user tool_result", "assistant text"];
    assert_eq!(words(lines), expected);
    assert!(is_chain(lines) && lines.iter().all(|line| line["sessionId"] == *id && line["isSidechain"] == false));
    assert!(
        shown
            .iter()
            .any(|frame| frame["uuid"] == lines[1]["uuid"] && frame["message"]["id"] == lines[1]["message"]["id"])
    );
    let (_, agent) =
        found.iter().find(|(path, _)| path.extension().is_some_and(|end| end == "jsonl") && path != main).unwrap();
    assert_eq!(words(agent), ["user words", "assistant text"]);
    assert!(is_chain(agent) && agent[0]["isSidechain"] == true && agent[0]["message"]["content"] == "to ten");
    let (_, meta) = found.iter().find(|(path, _)| path.extension().is_some_and(|end| end == "json")).unwrap();
    assert_eq!((&meta[0]["toolUseId"], &meta[0]["agentType"]), (&json!("c1"), &json!("worker")));

    visit.die().await;
    // A killed adapter leaves half a line, and a line less than the log has.
    let text = fs::read_to_string(main).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap();
    fs::write(main, &text[..cut + 20]).unwrap();
    let mut again = Visit::greeted(&inn, &["--resume", &id], json!({})).await;
    again.prompt("more").await;
    again.until_type("result").await;
    let found = files(folder.path());
    let (_, lines) = found.iter().find(|(path, _)| path == main).unwrap();
    assert_eq!(words(lines).len(), 7, "{:#?}", words(lines));
    assert!(is_chain(lines));
    assert_eq!(found.len(), 3);
}

#[tokio::test]
async fn a_client_that_wants_no_files_gets_none() {
    let folder = TempDir::new().unwrap();
    let inn = inn(&folder);
    let mut visit = Visit::greeted(&inn, &["--no-session-persistence"], json!({})).await;
    visit.prompt("hello").await;
    visit.until_type("result").await;
    assert_eq!(files(folder.path()), []);
}
