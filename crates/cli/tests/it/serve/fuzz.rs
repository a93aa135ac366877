//! Schemathesis reads the OpenAPI document and sends valid and invalid requests.

#![expect(clippy::disallowed_methods, reason = "tests start Schemathesis directly")]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Server, serve};
use crate::fixture;

/// The checks. Whether all valid data is accepted is not checked: a session may refuse it for reasons that no schema
/// expresses, such as a missing folder.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method,\
    allow_header_conformance,ignored_auth";

const HELLO: &str = "version: 1\nrules:\n  - answer: [{ say: Hello. }]\n";

#[test]
fn schemathesis_finds_no_server_error_or_schema_violation() {
    let fixture = fixture();
    fixture.script(HELLO);
    let server = serve(&fixture);
    let path = server.begin("hello");
    let task =
        server.http.request_ok("GET", &format!("{path}/tasks"), None)["tasks"][0]["id"].as_str().unwrap().to_owned();
    let session = path.rsplit('/').next().unwrap();
    // An existing session, so that requests do not just fail with 404.
    let config = fixture.path("known.toml");
    let known = format!(
        "[parameters]\n\"path.session\" = \"{session}\"\n\"path.task\" = \"{task}\"\n\"path.list\" = \"team:red\"\n\"path.item\" = \"1\"\n"
    );
    std::fs::write(&config, known).unwrap();
    // A stream never ends, and requests that end or remove the session come last.
    let quiet = "^(watchSession|stopSession|removeSession)$";
    run_schemathesis(
        &server,
        &fixture.folder(),
        &["--config-file", config.to_str().unwrap()],
        &["--exclude-operation-id-regex", quiet],
    );
    run_schemathesis(
        &server,
        &fixture.folder(),
        &[],
        &["--include-operation-id-regex", "^(stopSession|removeSession|getSession)$"],
    );
    // The session still exists.
    assert_eq!(server.http.request_ok("GET", &path, None)["id"], session);
}

#[track_caller]
fn run_schemathesis(server: &Server, folder: &Path, before: &[&str], which: &[&str]) {
    let address = server.http.address();
    let mut command = Command::new(schemathesis());
    command.args(before).args(["run", &format!("http://{address}/v1/openapi.json")]).args(which);
    command.args(["--header", &format!("Authorization: Bearer {}", server.token), "--checks", CHECKS]);
    command.args([
        "--phases",
        "examples,coverage,fuzzing",
        "--max-examples",
        "5",
        // One worker: its threads conflict in Python's parser.
        "--workers",
        "1",
        "--seed",
        "7",
        "--no-color",
    ]);
    command.args(["--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off"]);
    // It stores its findings in its working folder.
    let output = command.current_dir(folder).output().unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{report}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Where `cargo xtask test` says that it is, or beside what was built: tests are in `target/debug/deps`.
fn schemathesis() -> PathBuf {
    let usual = || std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("web");
    let program = std::env::var_os("BOSUN_WEB").map_or_else(usual, PathBuf::from).join("bin/schemathesis");
    assert!(program.exists(), "{} does not exist; `cargo xtask web` installs it", program.display());
    program
}
