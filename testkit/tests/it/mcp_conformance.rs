//! The client scenarios of MCP's conformance suite, for both revisions. The suite starts its own servers, and runs the
//! test kit's client, which is a session with Bosun's connection to them.

#![expect(clippy::disallowed_methods, reason = "the suite is not part of what it tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use bosun_testkit::mcp::ConformanceSuite;
use serde_json::Value;

/// Checks of optional scenarios that fail, each with the reason. One that passes must be removed.
const LEFT_OUT: [(&str, &str); 5] = [
    ("auth/dpop", "tokens are bearer tokens; binding them to a key is an extension that few servers offer"),
    ("auth/dpop-nonce", "as auth/dpop"),
    ("auth/wif-jwt-bearer", "Bosun has no identity of a workload to sign in with"),
    ("auth/enterprise-managed-authorization", "Bosun knows no identity provider of an enterprise"),
    ("json-schema-2020-12-preservation", "models get schemas without `$schema`"),
];

#[test]
fn client_conforms_to_2025_11_25() {
    check("2025-11-25", 18);
}

#[test]
fn client_conforms_to_2026_07_28() {
    check("2026-07-28", 32);
}

/// Runs every client scenario that a revision requires, and those that it only names.
#[track_caller]
fn check(revision: &str, required: usize) {
    let (suite, results) = (ConformanceSuite::installed(), tempfile::tempdir().unwrap());
    let client = env!("CARGO_BIN_EXE_mcp-conformance-client");
    let arguments = ["client", "--command", client, "--requirements", revision, "--timeout", "120000", "--output-dir"];
    let output = Command::new(&suite.node).arg(&suite.program).args(arguments).arg(results.path()).output().unwrap();
    let summary = String::from_utf8_lossy(&output.stdout).into_owned();
    let scenarios = read_results(results.path(), results.path());
    let left_out: BTreeSet<&str> = LEFT_OUT.iter().map(|(scenario, _reason)| *scenario).collect();
    let is_left_out = |scenario: &str| left_out.contains(scenario);
    assert!(scenarios.keys().filter(|scenario| !is_left_out(scenario)).count() >= required, "{summary}");
    for (scenario, failures) in &scenarios {
        let shown = format!("{scenario} ({revision}):\n{}\n{summary}", failures.join("\n"));
        assert_eq!(failures.is_empty(), !is_left_out(scenario), "{shown}");
    }
}

/// What failed in each scenario.
fn read_results(root: &Path, folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut results = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let checks = entry.path().join("checks.json");
        if !checks.exists() {
            results.extend(read_results(root, &entry.path()));
            continue;
        }
        // The folder's name ends with the time: such as 2026-11-19T15-19-26-619Z.
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        let scenario = name.rsplitn(7, '-').last().unwrap().to_owned();
        let checks: Vec<Value> = serde_json::from_slice(&std::fs::read(&checks).unwrap()).unwrap();
        let failed = checks.iter().filter(|check| check["status"] == "FAILURE" || check["status"] == "WARNING");
        let errors = std::fs::read_to_string(path.join("stderr.txt")).unwrap_or_default();
        let failed: Vec<String> = failed.map(|check| format!("{check}\n{errors}")).collect();
        results.insert(scenario, failed);
    }
    results
}
