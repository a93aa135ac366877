//! Resuming at an earlier message.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::session::scenario;

use super::visit::{ClaudeTestClient, ClaudeTestHost};

const SCRIPT: &str = "
version: 1
rules:
  - when: { prompt: look, answered: { tool: glob } }
    answer: [ { say: I have looked. } ]
  - when: { prompt: look }
    answer:
      - call: { tool: glob, input: { pattern: '*.txt' } }
  - answer: [ { say: 'You said: ${prompt}' } ]
";

/// A session with the turns `one`, `look` and `three`.
struct ThreeTurns {
    host: Arc<ClaudeTestHost>,
    folder: TempDir,
    id: String,
    /// The ids of its messages, as its session file has them.
    messages: Vec<String>,
}

impl ThreeTurns {
    async fn play() -> ThreeTurns {
        let folder = TempDir::new().unwrap();
        let variables = [("CLAUDE_CONFIG_DIR", folder.path().to_str().unwrap())];
        let host = ClaudeTestHost::with_variables(scenario().script(SCRIPT), &variables);
        let mut client = ClaudeTestClient::initialized(&host, &[], json!({})).await;
        let mut id = String::new();
        for prompt in ["one", "look", "three"] {
            client.prompt(prompt).await;
            id = client.next_of_type("result").await["session_id"].as_str().unwrap().to_owned();
        }
        client.close().await;
        let turns = ThreeTurns { host, folder, id, messages: Vec::new() };
        let messages = turns.lines(&turns.id).iter().map(|line| line["uuid"].as_str().unwrap().to_owned()).collect();
        ThreeTurns { messages, ..turns }
    }

    /// The lines of a session file.
    fn lines(&self, id: &str) -> Vec<Value> {
        let projects = std::fs::read_dir(self.folder.path().join("projects")).unwrap();
        let file = projects.map(|entry| entry.unwrap().path().join(format!("{id}.jsonl"))).find(|file| file.exists());
        let text = std::fs::read_to_string(file.unwrap()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The contents of the messages from the first one to the last line of the file, each the parent of the next.
    fn chain(&self, id: &str) -> Vec<String> {
        let lines = self.lines(id);
        let mut contents = Vec::new();
        let mut next = lines.last();
        while let Some(line) = next {
            contents.push(line["message"]["content"].as_str().unwrap_or("…").to_owned());
            next = lines.iter().find(|other| other["uuid"] == line["parentUuid"]);
        }
        contents.reverse();
        contents
    }

    async fn resume(&self, flags: &[String]) -> Value {
        let line = [&["--resume".to_owned(), self.id.clone()], flags].concat();
        let args: Vec<&str> = line.iter().map(String::as_str).collect();
        let mut client = ClaudeTestClient::initialized(&self.host, &args, json!({})).await;
        client.prompt("four").await;
        let result = client.next_of_type("result").await;
        client.close().await;
        result
    }
}

fn at(message: &str) -> String {
    format!("--resume-session-at={message}")
}

fn drops(message: &str) -> String {
    format!("--resume-drops-turn={message}")
}

#[tokio::test]
async fn a_session_is_resumed_at_the_end_of_an_earlier_turn() {
    let turns = ThreeTurns::play().await;
    // The messages: one, its answer; look, a call, its result, the answer; three, its answer.
    let flags = [at(&turns.messages[1]), "--fork-session".to_owned()];
    let forked = turns.resume(&flags).await;
    let copy = forked["session_id"].as_str().unwrap();
    assert_eq!((forked["result"].as_str(), copy == turns.id), (Some("You said: four"), false));
    assert_eq!(turns.chain(copy), ["one", "…", "four", "…"]);
    let requests = turns.host.fixture.model(bosun_adapters::session_id(copy).unwrap()).requests();
    let sent = format!("{:?}", requests[0].messages);
    assert!(
        sent.contains("one") && sent.contains("four") && !sent.contains("look") && !sent.contains("three"),
        "{sent}"
    );
    assert_eq!(turns.chain(&turns.id).len(), 8, "the original is unchanged");

    let resumed = turns.resume(&[at(&turns.messages[5]), drops(&turns.messages[6])]).await;
    assert_eq!((resumed["session_id"].as_str(), resumed["is_error"].as_bool()), (Some(&*turns.id), Some(false)));
    assert_eq!(turns.chain(&turns.id), ["one", "…", "look", "…", "…", "…", "four", "…"]);

    let all = turns.resume(&[at(turns.lines(&turns.id).last().unwrap()["uuid"].as_str().unwrap())]).await;
    assert_eq!(all["result"], "You said: four");
}

#[tokio::test]
async fn resuming_at_a_message_that_does_not_fit_is_refused() {
    let turns = ThreeTurns::play().await;
    let unknown = "01900000-0000-4000-8000-000000000001";
    let messages = &turns.messages;
    let cases = [
        (vec![at(unknown)], "the session has no message"),
        (vec![at("three")], "the session has no message"),
        (vec![at(&messages[3])], "the message is inside of a turn"),
        (vec![at(&messages[0])], "the message is inside of a turn"),
        (vec![drops(&messages[2])], "--resume-drops-turn needs --resume-session-at"),
        (vec![at(&messages[1]), drops(unknown)], "Resume rejected by --resume-drops-turn:"),
        (vec![at(&messages[1]), drops("")], "Resume rejected by --resume-drops-turn:"),
        (vec![at(&messages[1]), drops(&messages[2])], "the session has received other messages since"),
        (vec![at(&messages[7]), drops(&messages[6])], "Resume rejected by --resume-drops-turn:"),
    ];
    for (mut flags, expected) in cases {
        flags.push("--fork-session".to_owned());
        let result = turns.resume(&flags).await;
        let why = result["errors"][0].as_str().unwrap_or_default();
        assert!(why.contains(expected), "{flags:?}: {result}");
    }
    assert_eq!(turns.chain(&turns.id).len(), 8);
    let host = ClaudeTestHost::new(scenario().script(SCRIPT));
    let mut client = ClaudeTestClient::initialized(&host, &[&at(unknown)], json!({})).await;
    client.prompt("hello").await;
    let result = client.next_of_type("result").await;
    assert!(result["errors"][0].as_str().unwrap().contains("needs a session"), "{result}");
    client.close().await;
}
