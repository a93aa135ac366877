//! The providers' own SDKs as oracles: for the requests we send, and for the model server's answers.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and is not part of what it tests"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::WireFormat;
use serde_json::{Value, json};

use crate::server::{ModelServer, RecordedRequest};

/// The variable in which `cargo xtask test` passes the Python environment.
const VARIABLE: &str = "BOSUN_ORACLE";

/// Fails unless the SDKs' types know every part of these requests.
#[track_caller]
pub fn check_requests(requests: &[RecordedRequest]) {
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    for request in requests {
        let wire = match request.wire {
            WireFormat::Anthropic => "anthropic",
            WireFormat::Responses => "responses",
            WireFormat::Chat => "chat",
        };
        writeln!(file, "{}", json!({ "wire": wire, "body": request.json() })).unwrap();
    }
    judge("requests", &[file.path().to_str().unwrap()]).unwrap_or_else(|why| panic!("{why}"));
}

/// What the SDKs' clients understand of a server that plays [`ANSWERS`].
#[track_caller]
pub fn understood(server: &ModelServer) -> Value {
    let output = judge("answers", &[&server.url()]).unwrap_or_else(|why| panic!("{why}"));
    serde_json::from_str(&output).unwrap()
}

/// The script for the clients' requests.
pub const ANSWERS: &str = include_str!("../oracle/answers.yaml");

/// Runs the oracle; returns its output, or why it disagrees.
pub fn judge(what: &str, args: &[&str]) -> Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/check.py");
    let output = Command::new(python()).arg("-B").arg(script).arg(what).args(args).output().unwrap();
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn python() -> PathBuf {
    let place = std::env::var_os(VARIABLE).map_or_else(usual_place, PathBuf::from);
    let python = place.join("bin/python");
    assert!(
        python.exists(),
        "{} does not exist; run `cargo xtask oracle` or `cargo xtask test`, which install it",
        python.display()
    );
    python
}

/// The default folder, next to the build: tests are in `target/debug/deps`.
fn usual_place() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("oracle")
}
