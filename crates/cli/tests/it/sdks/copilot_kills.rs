//! Copilot clients and their adapter, killed in the middle of a turn: nothing is lost, and the next client sees all
//! events in order.

use std::fs;

use protocol::Envelope;
use testkit::binary::{
    BinaryFixture, BinaryInvocation, PATIENCE, ProcessSignal, RunningBinary, commands_with, sdk, within,
};

use super::copilot::{Language, all_held, program};
use crate::fixture;

const SESSION: &str = "0190aaaa-0000-7000-8000-000000000001";
const TOKEN: &str = "a-token";

/// A turn whose command waits for a file, with an agent in the background.
const WORK: &str = r#"
version: 1
rules:
  - when: { path: /root/looker, answered: { tool: shell } }
    answer: [say: I looked.]
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

fn at_work() -> BinaryFixture {
    let fixture = fixture();
    fixture.script(WORK);
    fixture
}

/// Kills a client in the middle of its turn.
#[track_caller]
fn kill(client: BinaryInvocation) {
    let mut client = client.env("SESSION", SESSION).start();
    client.await_stdout("in the middle");
    client.signal(ProcessSignal::Kill);
    client.wait().expect_killed();
}

/// A server on a port, for clients that come and go.
pub(super) struct Server {
    running: RunningBinary,
    at: String,
}

impl Server {
    #[track_caller]
    pub(super) fn start(fixture: &BinaryFixture) -> Server {
        let args = ["sdk", "serve", "copilot", "--", "--headless", "--no-auto-update"];
        let running = fixture.bosun(args).env("COPILOT_CONNECTION_TOKEN", TOKEN).start();
        running.await_stdout("listening on port");
        within(PATIENCE, "the whole line", || running.stdout().ends_with('\n'));
        let port = running.stdout().trim().rsplit(' ').next().unwrap().to_owned();
        Server { running, at: format!("127.0.0.1:{port}") }
    }

    pub(super) fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Has a program use it.
    pub(super) fn serve(&self, program: BinaryInvocation) -> BinaryInvocation {
        program.env("SERVER", &self.at).env("TOKEN", TOKEN)
    }
}

fn log(fixture: &BinaryFixture) -> Vec<Envelope> {
    fixture.log(&fixture.newest())
}

/// Fails unless the log has no gaps and starts with the earlier events.
#[track_caller]
fn is_whole(before: &[Envelope], after: &[Envelope]) {
    assert_eq!(after[..before.len()], before[..]);
    let numbers: Vec<u64> = after.iter().map(|envelope| envelope.seq).collect();
    assert_eq!(numbers, (1..).take(after.len()).collect::<Vec<u64>>());
}

/// The processes that serve this session's client.
fn adapters(fixture: &BinaryFixture) -> Vec<String> {
    commands_with(&sdk::adapters(fixture).join("bosun-copilot").display().to_string())
}

#[test]
fn a_killed_client_on_stdio_leaves_its_session_to_be_resumed() {
    for language in [Language::Node, Language::Python] {
        let fixture = at_work();
        kill(program(&fixture, Language::Node, "holding"));
        within(PATIENCE, "the adapter has ended", || adapters(&fixture).is_empty());
        let before = log(&fixture);
        fs::write(fixture.path("go"), "").unwrap();
        all_held(program(&fixture, language, "coming_back").env("SESSION", SESSION).run());
        is_whole(&before, &log(&fixture));
        assert_eq!(fs::read_to_string(fixture.path("witness")).unwrap(), "ran\n");
    }
}

#[test]
fn a_session_on_a_port_runs_on_when_its_client_is_killed() {
    for language in [Language::Node, Language::Python] {
        let fixture = at_work();
        let server = Server::start(&fixture);
        kill(server.serve(program(&fixture, Language::Node, "holding")));
        let before = log(&fixture);
        let other = server.serve(program(&fixture, language, "coming_back")).env("SESSION", SESSION);
        let other = other.env("LEFT", "running").start();
        other.await_stdout("everything");
        fs::write(fixture.path("go"), "").unwrap();
        all_held(other.wait());
        is_whole(&before, &log(&fixture));
        assert_eq!(fs::read_to_string(fixture.path("witness")).unwrap(), "ran\n");
    }
}

#[test]
fn a_session_whose_adapter_was_killed_is_resumed_with_its_tasks() {
    for language in [Language::Node, Language::Python] {
        let fixture = at_work();
        let client = program(&fixture, Language::Node, "holding").args(["and kill the adapter"]);
        client.env("SESSION", SESSION).run().expect(0);
        let before = log(&fixture);
        fs::write(fixture.path("go"), "").unwrap();
        all_held(program(&fixture, language, "coming_back").env("SESSION", SESSION).run());
        is_whole(&before, &log(&fixture));
        assert_eq!(fs::read_to_string(fixture.path("witness")).unwrap(), "ran\n");
    }
}
