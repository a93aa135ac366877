//! `bosun serve`: sessions over HTTP, through the real binary.

mod browser;
mod fuzz;
mod kills;
mod sessions;
mod streams;

use serde_json::{Value, json};
use testkit::binary::{BinaryFixture, PATIENCE, RunningBinary, within};
use testkit::http::Http;

/// A server, and a client that holds its token.
struct Server {
    running: RunningBinary,
    http: Http,
    token: String,
}

/// Starts a server.
#[track_caller]
fn serve(stage: &BinaryFixture) -> Server {
    let running = stage.bosun(["serve", "--json"]).start();
    running.await_stdout("\n");
    let told: Value = serde_json::from_str(running.stdout().trim()).unwrap();
    let token = told["token"].as_str().unwrap().to_owned();
    Server { http: Http::new(told["url"].as_str().unwrap(), &token), running, token }
}

impl Server {
    /// Begins a session in which every call may run, and gives its path.
    #[track_caller]
    fn begin(&self, prompt: &str) -> String {
        let session = json!({ "prompt": prompt, "permission": "allowAll" });
        let begun = self.http.done("POST", "/v1/sessions", Some(session));
        format!("/v1/sessions/{}", begun["id"].as_str().unwrap())
    }

    /// Waits until the root of a session is in a state.
    #[track_caller]
    fn await_state(&self, path: &str, state: &str) {
        within(PATIENCE, &format!("{path} is {state}"), || self.http.done("GET", path, None)["state"]["type"] == state);
    }
}

/// One turn that holds for as long as there is a file called `hold`, and one after it.
const HELD: &str = r#"
version: 1
agents:
  main:
    - - say: I begin.
      - call: { id: held, tool: shell, input: { command: "echo run >> witness; while [ -e hold ]; do sleep 0.01; done; echo on" } }
    - - say: It is done.
"#;

/// Lets shell calls of [`HELD`] hold.
fn hold(stage: &BinaryFixture) {
    std::fs::write(stage.path("hold"), "").unwrap();
}

/// Lets them go on.
fn release(stage: &BinaryFixture) {
    std::fs::remove_file(stage.path("hold")).unwrap();
}

/// Waits until one holds.
#[track_caller]
fn await_held(stage: &BinaryFixture) {
    within(PATIENCE, "the call runs", || stage.path("witness").exists());
}
