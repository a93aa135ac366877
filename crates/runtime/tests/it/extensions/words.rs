//! System text from the program for the root, and the session id that the program chooses.

use protocol::{MailDelivery, SessionId};
use runtime::{ClientExtensions, SessionOpenError, SessionStart, SystemText};
use testkit::session::scenario;

use crate::support::rules;

async fn system_prompts(text: SystemText) -> (String, String) {
    let script = "
  - when: { path: /root, turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: reader, name: one } }]
  - answer: [say: done]
";
    let extensions = ClientExtensions { system_text: text, ..ClientExtensions::default() };
    let run = scenario().script(&rules(script)).extensions(extensions).prompt("go").run().await;
    let requests = run.stage().model(run.id()).requests();
    let of = |agent: &str| requests.iter().find(|request| request.agent == agent).unwrap().system.to_string();
    (run.stage().plain(&of("main")), run.stage().plain(&of("reader")))
}

#[tokio::test]
async fn client_system_text_extends_or_replaces_the_built_in_text_of_the_root_only() {
    let (ours, readers) = system_prompts(SystemText::BuiltIn).await;
    let (more, reader) = system_prompts(SystemText::Appended("Speak like a pirate.".into())).await;
    assert_eq!((more, &reader), (format!("{ours}\nSpeak like a pirate.\n"), &readers));
    let (theirs, reader) = system_prompts(SystemText::Replaced("  You are a parrot.\n".into())).await;
    assert_eq!((theirs.as_str(), &reader), ("  You are a parrot.\n", &readers));
}

#[tokio::test]
async fn a_session_id_from_the_program_can_be_used_only_once() {
    let id: SessionId = "ses-0198c0de00007000800000000000abcd".parse().unwrap();
    let stage = scenario().script(&rules("  - answer: [say: hello]\n")).id(id).ready();
    let mut driver = stage.open(SessionStart::New).await;
    assert_eq!(driver.id(), id);
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    driver.leave().await;
    let again = stage.try_open(SessionStart::New).await;
    assert!(matches!(again, Err(SessionOpenError::Store(_))), "{again:?}");
    let driver = stage.open(SessionStart::Resume(id)).await;
    assert_eq!(driver.id(), id);
    driver.leave().await;
}
