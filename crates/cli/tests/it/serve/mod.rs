//! `bosun serve`: sessions over HTTP, through the real binary.

mod browser;
mod fuzz;
mod kills;
mod mcp_servers;
mod sessions;
mod streams;

use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, BinaryInvocation, PATIENCE, RunningBinary, within};
use testkit::http::Http;

/// A server, and a client that holds its token.
pub(crate) struct Server {
    running: RunningBinary,
    pub(crate) http: Http,
    token: String,
}

/// Starts a server.
#[track_caller]
pub(crate) fn serve(fixture: &BinaryFixture) -> Server {
    serve_with(fixture.bosun(["serve", "--json"]))
}

/// Starts this server.
#[track_caller]
fn serve_with(invocation: BinaryInvocation) -> Server {
    let running = invocation.start();
    running.await_stdout("\n");
    let output: Value = serde_json::from_str(running.stdout().trim()).unwrap();
    let token = output["token"].as_str().unwrap().to_owned();
    Server { http: Http::new(output["url"].as_str().unwrap(), &token), running, token }
}

impl Server {
    /// Starts a session in which every call is allowed; returns its path.
    #[track_caller]
    pub(crate) fn begin(&self, prompt: &str) -> String {
        let session = json!({ "prompt": prompt, "permission": "allowAll" });
        let begun = self.http.request_ok("POST", "/v1/sessions", Some(session));
        format!("/v1/sessions/{}", begun["id"].as_str().unwrap())
    }

    /// Waits until the root of a session is in a state.
    #[track_caller]
    pub(crate) fn await_state(&self, path: &str, state: &str) {
        within(PATIENCE, &format!("{path} is {state}"), || {
            self.http.request_ok("GET", path, None)["state"]["type"] == state
        });
    }
}

/// One turn that waits while a file called `hold` exists, and one after it.
const HELD: &str = r#"
version: 1
agents:
  main:
    - - say: I begin.
      - call: { id: held, tool: shell, input: { command: "echo run >> witness; while [ -e hold ]; do sleep 0.01; done; echo on" } }
    - - say: It is done.
"#;

/// Makes shell calls of [`HELD`] wait.
fn hold(fixture: &BinaryFixture) {
    std::fs::write(fixture.path("hold"), "").unwrap();
}

/// Lets them continue.
fn release(fixture: &BinaryFixture) {
    std::fs::remove_file(fixture.path("hold")).unwrap();
}

/// Waits until one has written to its file, which the shell creates before.
#[track_caller]
fn await_held(fixture: &BinaryFixture) {
    let written = || std::fs::read_to_string(fixture.path("witness")).is_ok_and(|text| text.ends_with('\n'));
    within(PATIENCE, "the call runs", written);
}
