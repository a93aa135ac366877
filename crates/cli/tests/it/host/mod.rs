//! The session host: the process that keeps sessions which no terminal holds.

mod agents;
mod commands;
mod logs;
mod takeover;

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::binary::{BinaryFixture, BinaryInvocation, PATIENCE, within};
use testkit::server::{ModelServer, RequestRetention};

/// A home whose session host ends with the test.
struct HostFixture {
    fixture: BinaryFixture,
    server: ModelServer,
}

/// Jobs of two kinds. A `held` one waits in its second turn while a file called `hold` exists; a `busy` one makes many
/// short turns.
const JOBS: &str = r#"
version: 1
rules:
  - when: { turn: 1, prompt: "job ([0-9]+)" }
    answer:
      - say: I begin job ${1}.
      - call: { id: begin, tool: shell, input: { command: "echo begin-${1} >> witness" } }
  - when: { turn: 2, prompt: "held job ([0-9]+)" }
    answer:
      - call: { id: held, tool: shell, input: { command: "echo held-${1} >> witness; while [ -e hold ]; do sleep 0.02; done; echo on" } }
  - when: { turn: "2..12", prompt: "busy job ([0-9]+)" }
    answer:
      - call: { tool: glob, input: { pattern: "*.txt" } }
  - answer: [ say: It is done. ]
"#;

/// How many answers of the model a job takes.
fn answers_of_job(number: usize) -> usize {
    if number.is_multiple_of(2) { 3 } else { 13 }
}

impl HostFixture {
    fn new(program: &str) -> HostFixture {
        let server = ModelServer::script(JOBS).keep(RequestRetention::Everything).start();
        let fixture = BinaryFixture::new(program);
        fs::write(fixture.path("hold"), "").unwrap();
        HostFixture { fixture, server }
    }

    /// The binary with the model server.
    fn bosun(&self, args: &[&str]) -> BinaryInvocation {
        self.fixture.bosun(args).against(&self.server).env("BOSUN_MODEL", "anthropic/test-model")
    }

    /// Begins a session in the host; returns its id.
    #[track_caller]
    fn detach(&self, prompt: &str) -> String {
        self.bosun(&["-p", prompt, "--detach", "--allow-all"]).run().expect(0).stdout.trim().to_owned()
    }

    /// The running host, or null.
    #[track_caller]
    fn status(&self) -> Value {
        self.bosun(&["serve", "--status", "--json"]).run().expect(0).json()
    }

    /// The process of the running host.
    #[track_caller]
    fn pid(&self) -> u32 {
        self.status()["pid"].as_u64().and_then(|pid| pid.try_into().ok()).expect("a host runs")
    }

    /// Begins this many sessions, half of them `held`, and waits until each of those is held and the others work.
    #[track_caller]
    fn begin_jobs(&self, count: usize) -> Vec<String> {
        let kind = |number: usize| if number.is_multiple_of(2) { "held" } else { "busy" };
        let ids = (0..count).map(|number| self.detach(&format!("{} job {number}", kind(number)))).collect();
        within(PATIENCE, "every job has begun, and the held ones are held", || {
            let witness = self.witness();
            let lines = |prefix: &str| witness.iter().filter(|line| line.starts_with(prefix)).count();
            lines("begin-") == count && lines("held-") == count.div_ceil(2)
        });
        ids
    }

    /// The lines that shell calls wrote.
    fn witness(&self) -> Vec<String> {
        let text = fs::read_to_string(self.fixture.path("witness")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Lets held jobs continue.
    fn release(&self) {
        fs::remove_file(self.fixture.path("hold")).unwrap();
    }

    /// Waits until these sessions rest, and no process runs them.
    #[track_caller]
    fn await_rest(&self, ids: &[String]) {
        within(PATIENCE, "every session rests", || {
            let rows = self.fixture.sessions();
            let rests = |id: &String| {
                rows.iter().any(|row| row["id"] == id.as_str() && row["state"] == "idle" && row["ownerPid"].is_null())
            };
            ids.iter().all(rests)
        });
    }
}

impl Drop for HostFixture {
    fn drop(&mut self) {
        // Without a host there is nothing to stop.
        let _stopped = self.fixture.bosun(["serve", "--stop"]).run();
    }
}

/// Puts a copy of the binary at a path, in place of an earlier one.
fn install(program: &Path) {
    let draft = program.with_extension("new");
    fs::copy(crate::BOSUN, &draft).unwrap();
    fs::rename(&draft, program).unwrap();
}
