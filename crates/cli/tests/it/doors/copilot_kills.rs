//! Copilot clients and their door, killed in the middle of a turn: nothing is lost, and whoever comes sees it in order.

use std::fs;

use protocol::Envelope;
use testkit::binary::{PATIENCE, Running, Signal, Stage, sdk, within};

use super::copilot::{Language, all_held, program};
use crate::stage;

const SESSION: &str = "0190aaaa-0000-7000-8000-000000000001";
const TOKEN: &str = "a-token";

/// A turn that is in the middle of a command until there is a file, with an agent in the background.
const WORK: &str = r#"
version: 1
rules:
  - when: { path: /root/looker }
    answer: [call: { tool: shell, input: { command: "until [ -e go ]; do sleep 0.01; done; echo looked" } }]
  - when: { prompt: are you there }
    answer: [say: I am here.]
  - when: { turn: 1 }
    answer:
      - call:
          tool: task
          input:
            description: Looks around
            prompt: look
            agent_type: general-purpose
            name: looker
            mode: background
  - when: { turn: 2 }
    answer:
      - call: { id: held, tool: shell, input: { command: "echo ran >> witness; until [ -e go ]; do sleep 0.01; done" } }
  - answer: [say: All of it is done.]
"#;

fn at_work() -> Stage {
    let stage = stage();
    let looker = "  - when: { path: /root/looker, answered: { tool: shell } }\n    answer: [say: I looked.]\n";
    stage.script(&WORK.replacen("rules:\n", &format!("rules:\n{looker}"), 1));
    stage
}

/// A client that has begun the work, in the middle of it.
#[track_caller]
fn holding(stage: &Stage, server: Option<&str>) -> Running {
    let mut program = program(stage, Language::Node, "holding").env("SESSION", SESSION);
    if let Some(server) = server {
        program = program.env("SERVER", server).env("TOKEN", TOKEN);
    }
    let running = program.start();
    running.await_stdout("in the middle");
    running
}

fn log(stage: &Stage) -> Vec<Envelope> {
    stage.log(&format!("session-{SESSION}"))
}

/// Fails unless the log has no gap and begins as it did before.
#[track_caller]
fn is_whole(before: &[Envelope], after: &[Envelope]) {
    assert_eq!(after[..before.len()], before[..]);
    let numbers: Vec<u64> = after.iter().map(|envelope| envelope.seq).collect();
    assert_eq!(numbers, (1..).take(after.len()).collect::<Vec<u64>>());
}

/// The processes that serve this session's client.
fn doors(stage: &Stage) -> Vec<String> {
    testkit::binary::commands_with(&sdk::doors(stage).join("bosun-copilot").display().to_string())
}

#[test]
fn d6_a_killed_client_on_stdio_leaves_its_session_to_be_resumed() {
    for language in [Language::Node, Language::Python] {
        let stage = at_work();
        let mut client = holding(&stage, None);
        client.signal(Signal::Kill);
        client.wait().expect_killed();
        within(PATIENCE, "the door has ended", || doors(&stage).is_empty());
        let before = log(&stage);
        fs::write(stage.path("go"), "").unwrap();
        all_held(program(&stage, language, "coming_back").env("SESSION", SESSION).run());
        is_whole(&before, &log(&stage));
        assert_eq!(fs::read_to_string(stage.path("witness")).unwrap(), "ran\n");
    }
}
