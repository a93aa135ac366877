//! Eight processes of eight sessions share one provider's limit.

#![expect(clippy::disallowed_methods, reason = "the sessions are in processes of their own, which the test starts")]

use std::process::Command;

use bosun_testkit::server::{Hint, ModelServer};

const PROCESSES: usize = 8;
const SESSIONS: usize = 8;
const TURNS: usize = 15;

/// Says where it is fourteen times, and then that it is done.
const SCRIPT: &str = "
version: 1
about: Fifteen turns
rules:
  - when: { turn: ..14 }
    answer: [call: { tool: report_intent, input: { intent: 'turn ${turn}' } }]
  - answer: [say: done]
";

fn run(hint: Hint) {
    let server = ModelServer::script(SCRIPT).allow(100, hint).start();
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("work");
    std::fs::create_dir(&folder).unwrap();
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_many-sessions"))
            .args([&base.path().join("home"), &folder])
            .args([&server.openai_url(), &SESSIONS.to_string()])
            .spawn()
            .unwrap()
    };
    let running: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    for mut process in running {
        assert!(process.wait().unwrap().success());
    }
    let needed = PROCESSES * SESSIONS * TURNS;
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|seen| seen.status == Some(200)).count(), needed);
    eprintln!("{} requests for {needed} answers", requests.len());
    assert!(requests.len() * 10 <= needed * 12, "{} requests for {needed}", requests.len());
}

#[test]
fn sixty_four_sessions_finish_with_few_requests_in_vain_when_they_are_told_when_to_come_again() {
    run(Hint::RetryAfter);
}

#[test]
fn sixty_four_sessions_finish_with_few_requests_in_vain_when_they_are_not() {
    run(Hint::Silent);
}
