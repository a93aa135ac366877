//! The providers' own SDKs as judges: of what we send, and of what the model server answers.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and stands outside what it tests"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::WireFormat;
use serde_json::{Value, json};

use crate::server::{ModelServer, RecordedRequest};

/// Where `cargo xtask test` says that the Python environment is.
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

/// What the SDKs' clients understand of a server that answers by [`ANSWERS`].
#[track_caller]
pub fn understood(server: &ModelServer) -> Value {
    let heard = judge("answers", &[&server.url()]).unwrap_or_else(|why| panic!("{why}"));
    serde_json::from_str(&heard).unwrap()
}

/// The script that the clients ask questions about.
pub const ANSWERS: &str = include_str!("../oracle/answers.yaml");

/// Runs the oracle: what it printed, or why it disagrees.
pub fn judge(what: &str, about: &[&str]) -> Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/check.py");
    let output = Command::new(python()).arg("-B").arg(script).arg(what).args(about).output().unwrap();
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

/// Beside what was built: tests are in `target/debug/deps`.
fn usual_place() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("oracle")
}
