//! Schemathesis reads the OpenAPI document and asks everything that it says may be asked, and much that it does not.

#![expect(clippy::disallowed_methods, reason = "Schemathesis stands outside what is tested")]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Server, serve};
use crate::stage;

/// What is looked at. Whether everything that fits is also accepted is not: a session may refuse for reasons that no
/// schema knows, such as a folder that is not there.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method,\
    allow_header_conformance,ignored_auth";

const HELLO: &str = "version: 1\nrules:\n  - answer: [{ say: Hello. }]\n";

#[test]
fn schemathesis_finds_no_server_error_and_no_answer_that_breaks_the_schema() {
    let stage = stage();
    stage.script(HELLO);
    let server = serve(&stage);
    let path = server.begin("hello");
    let task = server.http.done("GET", &format!("{path}/tasks"), None)["tasks"][0]["id"].as_str().unwrap().to_owned();
    let session = path.rsplit('/').next().unwrap();
    // A session that is there, so that what is asked of it gets further than to its absence.
    let config = stage.path("known.toml");
    let known = format!("[parameters]\n\"path.session\" = \"{session}\"\n\"path.task\" = \"{task}\"\n");
    std::fs::write(&config, known).unwrap();
    // A stream has no end, and what ends or removes the session comes last.
    let quiet = "^(watchSession|stopSession|removeSession)$";
    judge(
        &server,
        &stage.folder(),
        &["--config-file", config.to_str().unwrap()],
        &["--exclude-operation-id-regex", quiet],
    );
    judge(&server, &stage.folder(), &[], &["--include-operation-id-regex", "^(stopSession|removeSession|getSession)$"]);
    // Whatever came, the session is as it was.
    assert_eq!(server.http.done("GET", &path, None)["id"], session);
}

#[track_caller]
fn judge(server: &Server, folder: &Path, before: &[&str], which: &[&str]) {
    let address = server.http.address();
    let mut command = Command::new(schemathesis());
    command.args(before).args(["run", &format!("http://{address}/v1/openapi.json")]).args(which);
    command.args(["--header", &format!("Authorization: Bearer {}", server.token), "--checks", CHECKS]);
    command.args([
        "--phases",
        "examples,coverage,fuzzing",
        "--max-examples",
        "5",
        // One: its own threads trip over each other in Python's parser.
        "--workers",
        "1",
        "--seed",
        "7",
        "--no-color",
    ]);
    command.args(["--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off"]);
    // It keeps what it found in the folder that it works in.
    let output = command.current_dir(folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Where `cargo xtask test` says that it is, or beside what was built: tests are in `target/debug/deps`.
fn schemathesis() -> PathBuf {
    let usual = || std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("web");
    let program = std::env::var_os("BOSUN_WEB").map_or_else(usual, PathBuf::from).join("bin/schemathesis");
    assert!(program.exists(), "{} does not exist; `cargo xtask web` installs it", program.display());
    program
}
