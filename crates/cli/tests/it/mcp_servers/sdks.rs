//! Servers that are written with the SDKs of the protocol, over both transports and in both revisions.

use serde_json::{Value, json};
use testkit::mcp_peer::McpPeer;

use super::{call, log_text, program};
use crate::fixture;

const SESSION: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// What the servers with an SDK have in common.
fn common_calls() -> Vec<(&'static str, Value)> {
    let none = || json!({});
    vec![
        ("add", json!({ "a": 2, "b": 3 })),
        ("add", json!({ "a": "x" })),
        ("fail", none()),
        ("revision", none()),
        ("count", none()),
        ("ask", none()),
    ]
}

#[track_caller]
fn check_common(texts: &[String], revision: &str) {
    assert_eq!(texts[0], "the sum is 5");
    assert!(texts[1].contains('a') && !texts[1].contains("the sum"), "{}", texts[1]);
    assert!(texts[2].contains("out of paper"), "{}", texts[2]);
    assert_eq!((texts[3].as_str(), texts[4].as_str()), (revision, "counted to 3"));
    // Nobody is there who could answer the question.
    assert_eq!(texts[5], "cancel");
}

/// A server that adds a tool to its list while it is used.
#[track_caller]
fn grows(peer: &McpPeer, revision: &str) {
    let mut calls = common_calls();
    calls.extend([("grow", json!({})), ("grown", json!({}))]);
    let texts = call(&fixture(), &peer.settings(), &calls);
    check_common(&texts, revision);
    assert_eq!(&texts[6..], ["grew", "new"]);
}

#[track_caller]
fn serves(peer: &McpPeer, revision: &str) {
    let peer = peer.serve();
    let texts = call(&fixture(), &json!({ "url": peer.url() }), &common_calls());
    check_common(&texts, revision);
}

#[test]
fn typescript_1_over_stdio() {
    grows(&McpPeer::node(&program("sdk_1.mjs"), &["stdio"]), SESSION);
}

#[test]
fn typescript_1_over_http() {
    serves(&McpPeer::node(&program("sdk_1.mjs"), &["http"]), SESSION);
}

#[test]
fn typescript_2_over_stdio() {
    grows(&McpPeer::node(&program("sdk_2.mjs"), &["stdio"]), STATELESS);
}

#[test]
fn typescript_2_over_stdio_in_sessions() {
    grows(&McpPeer::node(&program("sdk_2.mjs"), &["stdio", "session"]), SESSION);
}

#[test]
fn typescript_2_over_http() {
    serves(&McpPeer::node(&program("sdk_2.mjs"), &["http"]), STATELESS);
}

#[test]
fn typescript_2_over_http_in_sessions() {
    serves(&McpPeer::node(&program("sdk_2.mjs"), &["http", "session"]), SESSION);
}

#[test]
fn python_1_over_stdio() {
    let peer = McpPeer::python_1(&program("sdk_py_1.py"), &["stdio"]);
    let texts = call(&fixture(), &peer.settings(), &common_calls());
    check_common(&texts, SESSION);
}

/// The server makes up an id for the refusal of the newest revision.
#[test]
fn python_1_over_http() {
    serves(&McpPeer::python_1(&program("sdk_py_1.py"), &["http"]), SESSION);
}

#[test]
fn python_over_stdio() {
    let texts = call(&fixture(), &McpPeer::python(&program("sdk_py.py"), &["stdio"]).settings(), &common_calls());
    check_common(&texts, STATELESS);
}

#[test]
fn python_over_stdio_in_sessions() {
    let peer = McpPeer::python(&program("sdk_py.py"), &["stdio", "session"]);
    let texts = call(&fixture(), &peer.settings(), &common_calls());
    check_common(&texts, SESSION);
}

#[test]
fn python_over_http() {
    serves(&McpPeer::python(&program("sdk_py.py"), &["http"]), STATELESS);
}

/// Its tool `work` runs only as a task, in the form of 2026-07-28.
#[track_caller]
fn check_fastmcp(settings: &Value) {
    let calls = [("add", json!({ "a": 2, "b": 3 })), ("fail", json!({})), ("work", json!({ "steps": 3 }))];
    let fixture = fixture();
    let texts = call(&fixture, settings, &calls);
    assert_eq!(texts[0], "the sum is 5");
    assert!(texts[1].contains("out of paper"), "{}", texts[1]);
    let log = log_text(&fixture);
    assert!(log.contains("worked 3 steps"), "{}", texts[2]);
}

#[test]
fn fastmcp_over_stdio() {
    check_fastmcp(&McpPeer::python(&program("fast.py"), &["stdio"]).settings());
}

#[test]
fn fastmcp_over_http() {
    let peer = McpPeer::python(&program("fast.py"), &["http"]).serve();
    check_fastmcp(&json!({ "url": peer.url() }));
}

/// The schemas of ext-tasks accept every request about a task that asks a question.
#[test]
fn requests_about_tasks_follow_the_schemas_of_the_extension() {
    let fixture = fixture();
    call(&fixture, &McpPeer::node(&program("tasks.mjs"), &[]).settings(), &[("work", json!({}))]);
    let log = log_text(&fixture);
    assert!(log.contains("the answer was: cancel, 1 update"), "{log}");
}
