//! The reference servers: everything, filesystem, git and time.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use testkit::mcp_peer::McpPeer;

use super::{call, log_text, program};
use crate::fixture;

const EVERYTHING: &str = "@modelcontextprotocol/server-everything/dist/index.js";

#[test]
fn every_kind_of_content_and_of_question_of_the_everything_server_is_answered() {
    let (fixture, peer) = (fixture(), McpPeer::node_package(EVERYTHING, &["stdio"]));
    let calls = [
        ("echo", json!({ "message": "Grüße 🌍\n\u{2028}" })),
        ("get-sum", json!({ "a": 2, "b": 40 })),
        ("get-sum", json!({ "a": "two" })),
        ("get-tiny-image", json!({})),
        ("get-structured-content", json!({ "location": "Chicago" })),
        ("get-resource-links", json!({ "count": 2 })),
        ("get-annotated-message", json!({ "messageType": "error" })),
        ("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 4 })),
        ("get-roots-list", json!({})),
        ("trigger-elicitation-request", json!({})),
    ];
    let texts = call(&fixture, &peer.settings(), &calls);
    let folder = fixture.folder().canonicalize().unwrap().display().to_string();
    let expected: [&[&str]; 10] = [
        &["Echo: Grüße 🌍\n\u{2028}"],
        &["The sum of 2 and 40 is 42."],
        &["Invalid arguments for tool get-sum"],
        &["[image of type image/png, ", " bytes in base64, not shown]"],
        &["\"temperature\":36", "Light rain"],
        &["[resource ", "demo://resource/dynamic/"],
        &["Error: Operation failed"],
        &["Long running operation completed. Duration: 0.2 seconds, Steps: 4."],
        &["file://", &folder],
        &["cancelled the elicitation"],
    ];
    for ((text, parts), (tool, _)) in texts.iter().zip(expected).zip(&calls) {
        assert!(parts.iter().all(|part| text.contains(part)), "{tool}: {text}");
    }
}

#[test]
fn everything_server_is_used_over_http() {
    let (fixture, peer) = (fixture(), McpPeer::node(&program("everything_http.mjs"), &[]).serve());
    let calls = [
        ("echo", json!({ "message": "hi" })),
        ("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 4 })),
        ("trigger-elicitation-request", json!({})),
    ];
    let texts = call(&fixture, &json!({ "url": peer.url() }), &calls);
    assert_eq!(texts[0], "Echo: hi");
    assert!(texts[1].contains("Steps: 4."), "{}", texts[1]);
}

/// The server asks in the middle of the task. Nobody answers, so it takes the default.
#[test]
fn task_of_the_everything_server_is_followed_until_its_result() {
    let (fixture, peer) = (fixture(), McpPeer::node_package(EVERYTHING, &["stdio"]));
    let calls = [("simulate-research-query", json!({ "topic": "python", "ambiguous": true }))];
    call(&fixture, &peer.settings(), &calls);
    let log = log_text(&fixture);
    for part in ["Research Report: python", "User cancelled", "Generating report"] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

/// The server takes the folders that it may use from its client, which names the same one.
#[test]
fn filesystem_server_works_in_the_folder_of_the_session() {
    let fixture = fixture();
    let folder = fixture.folder().display().to_string();
    let peer = McpPeer::node_package("@modelcontextprotocol/server-filesystem/dist/index.js", &[&folder]);
    let path = |name: &str| fixture.path(name).display().to_string();
    let calls = [
        ("list_allowed_directories", json!({})),
        ("write_file", json!({ "path": path("a.txt"), "content": "written\n" })),
        ("read_text_file", json!({ "path": path("a.txt") })),
        ("read_text_file", json!({ "path": "/etc/hostname" })),
    ];
    let texts = call(&fixture, &peer.settings(), &calls);
    assert!(texts[0].contains(&folder), "{}", texts[0]);
    assert_eq!(
        (fs::read_to_string(fixture.path("a.txt")).unwrap().as_str(), texts[2].as_str()),
        ("written\n", "written\n")
    );
    assert!(texts[3].contains("Access denied"), "{}", texts[3]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the repository is that of a user")]
fn git_server_reports_and_commits() {
    let fixture = fixture();
    let folder = fixture.folder().display().to_string();
    let git =
        |args: &[&str]| assert!(Command::new("git").arg("-C").arg(&folder).args(args).status().unwrap().success());
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["config", "user.name", "t"]);
    git(&["config", "user.email", "t@example.invalid"]);
    fs::write(fixture.path("a.txt"), "one\n").unwrap();
    let peer = McpPeer::python_package("mcp-server-git", &["--repository", &folder]);
    let repository = |more: Value| {
        let mut input = more;
        input["repo_path"] = json!(folder);
        input
    };
    let calls = [
        ("git_add", repository(json!({ "files": ["a.txt"] }))),
        ("git_commit", repository(json!({ "message": "Adds a" }))),
        ("git_log", repository(json!({ "max_count": 1 }))),
        ("git_show", repository(json!({ "revision": "no-such" }))),
    ];
    let texts = call(&fixture, &peer.settings(), &calls);
    assert!(texts[1].contains("committed") && texts[2].contains("Adds a"), "{texts:#?}");
    assert!(texts[3].contains("no-such"), "{}", texts[3]);
    // The same server, as a person looks at it.
    let settings = json!({ "mcpServers": { "git": peer.settings() } }).to_string();
    let tested = fixture.bosun(["mcp", "test", "git", "--json", "--mcp-config", &settings]).run().expect(0).json();
    assert_eq!((&tested["protocol"], &tested["rejected"]), (&json!("2026-07-28"), &json!([])));
}

#[test]
fn time_server_converts_between_zones() {
    let (fixture, peer) = (fixture(), McpPeer::python_package("mcp-server-time", &["--local-timezone", "UTC"]));
    let convert = json!({ "source_timezone": "UTC", "target_timezone": "Asia/Tokyo", "time": "12:00" });
    let calls = [
        ("convert_time", convert),
        ("get_current_time", json!({ "timezone": "UTC" })),
        ("get_current_time", json!({ "timezone": "Moon/Crater" })),
    ];
    let texts = call(&fixture, &peer.settings(), &calls);
    assert!(texts[0].contains("T21:00:00+09:00"), "{}", texts[0]);
    assert!(texts[1].contains("UTC") && texts[2].contains("Moon/Crater"), "{texts:#?}");
}
