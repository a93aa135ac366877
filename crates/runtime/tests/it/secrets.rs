//! Secrets are written nowhere, whether they come from the user, the model or a command.

use std::fs;
use std::path::Path;

use protocol::api::{SendParams, SessionCommand};
use protocol::{MailDelivery, Timestamp};
use runtime::SessionStart;
use testkit::session::scenario;

use crate::support::turns;

pub(crate) const KEY: &str = "sk-0123456789abcdef";

/// Every file below `folder` that holds the key.
pub(crate) fn leaks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(leaks(&path));
        } else if fs::read(&path).unwrap_or_default().windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn a_secret_in_messages_answers_or_output_is_not_written() {
    let script = turns(&format!(
        "    - - think: the key is {KEY}
      - say: I know {KEY}.
      - call: {{ tool: shell, input: {{ command: 'cat key.txt' }} }}
      - call: {{ tool: shell, input: {{ command: 'cat key.txt; cat key.txt', background: true, name: b }} }}
      - call: {{ tool: report_intent, input: {{ intent: 'use {KEY}' }} }}
    - - call: {{ tool: read_shell, input: {{ name: b, wait_secs: 5 }} }}
    - - call: {{ tool: sql, input: {{ query: \"SELECT 'x'\" }} }}
    - - say: It is {KEY}, as you said.
"
    ));
    let stage = scenario().script(&script).file("key.txt", KEY).allow_all().secret(KEY).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send(&format!("my key is {KEY}"), MailDelivery::FollowUp).await;
    driver.rest().await;
    let requests = driver.model().requests();
    let run = driver.leave().await;
    assert_eq!(leaks(stage.home().root()), Vec::<String>::new());
    assert_eq!(run.text(), "It is [redacted], as you said.");
    assert!(!format!("{requests:?}").contains(KEY), "the model received the key");
    assert!(run.transcript().matches("[redacted]").count() >= 6, "{}", run.transcript());
}

#[tokio::test]
async fn a_secret_in_a_stored_command_is_removed_once_it_is_applied() {
    let stage = scenario().script(&turns("    - - say: hello\n")).secret(KEY).ready();
    let driver = stage.open(SessionStart::New).await;
    let id = driver.id();
    driver.leave().await;
    // Long enough to need its own database pages.
    let text = format!("{}my key is {KEY}", "a long story ".repeat(2000));
    let send = SendParams { task: None, text, images: Vec::new(), delivery: MailDelivery::FollowUp, display: None };
    store::post_command(stage.home(), id, &SessionCommand::Send(send), Timestamp(1)).unwrap();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), "hello");
    assert_eq!(leaks(stage.home().root()), Vec::<String>::new());
}
