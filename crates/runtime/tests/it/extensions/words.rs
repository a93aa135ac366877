//! Words of the program for the session's own agent, and the name of the session.

use protocol::{MailDelivery, SessionId};
use runtime::{ClientExtensions, SessionOpenError, SessionStart, SystemText};
use testkit::session::scenario;

use crate::support::rules;

async fn systems(text: SystemText) -> (String, String) {
    let script = "
  - when: { path: /root, turn: 1 }
    answer: [call: { tool: task, input: { description: d, prompt: p, agent_type: reader, name: one } }]
  - answer: [say: done]
";
    let extensions = ClientExtensions { system: text, ..ClientExtensions::default() };
    let run = scenario().script(&rules(script)).extensions(extensions).prompt("go").run().await;
    let requests = run.stage().model(run.id()).requests();
    let of = |agent: &str| requests.iter().find(|request| request.agent == agent).unwrap().system.to_string();
    (run.stage().plain(&of("main")), run.stage().plain(&of("reader")))
}

#[tokio::test]
async fn the_programs_words_are_added_to_ours_or_take_their_place_for_the_root_alone() {
    let (ours, readers) = systems(SystemText::BuiltIn).await;
    let (more, reader) = systems(SystemText::Appended("Speak like a pirate.".into())).await;
    assert_eq!((more, &reader), (format!("{ours}\nSpeak like a pirate.\n"), &readers));
    let (theirs, reader) = systems(SystemText::Replaced("  You are a parrot.\n".into())).await;
    assert_eq!((theirs.as_str(), &reader), ("You are a parrot.\n", &readers));
}

#[tokio::test]
async fn a_session_has_the_name_that_the_program_gives_it_once() {
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
