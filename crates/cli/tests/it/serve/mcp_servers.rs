//! MCP servers over HTTP: those of the user's settings, and those of a running session.

use serde_json::{Value, json};
use testkit::mcp::ScriptedMcpProgram;

use super::serve;
use crate::fixture;
use crate::scripts::HELLO;

/// The names of the servers of an answer, with their states.
fn states(answer: &Value, state: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer["servers"].as_array().unwrap().iter().map(|server| (text(&server["name"]), text(&server[state]))).collect()
}

fn row(name: &str, state: &str) -> (String, String) {
    (name.to_owned(), state.to_owned())
}

#[test]
fn servers_of_the_settings_are_listed_added_tested_and_removed() {
    let (fixture, scripted) = (fixture(), ScriptedMcpProgram::new(json!({})));
    let server = serve(&fixture);
    let http = &server.http;
    assert_eq!(http.request_ok("GET", "/v1/mcp", None)["servers"], json!([]));
    let (command, args) = scripted.command();
    let calc = json!({ "name": "calc", "server": { "command": command, "args": args } });
    let added = http.request_ok("POST", "/v1/mcp", Some(calc.clone()));
    assert!(added["path"].as_str().unwrap().ends_with("/config.toml"), "{added}");
    http.request("POST", "/v1/mcp", Some(calc)).problem(422);
    http.request("POST", "/v1/mcp", Some(json!({ "name": "x", "server": { "colour": 1 } }))).problem(400);
    assert_eq!(states(&http.request_ok("GET", "/v1/mcp", None), "state"), [row("calc", "ready")]);
    assert_eq!(scripted.pids(), [0; 0], "nothing is started");
    let tested = http.request_ok("POST", "/v1/mcp/test", Some(json!({ "name": "calc" })));
    assert!(tested["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "mcp__calc__add"), "{tested}");
    http.request("POST", "/v1/mcp/test", Some(json!({ "name": "nix" }))).problem(422);
    assert!(http.request("GET", "/v1/mcp/logs?name=calc", None).json().is_object());
    http.request_ok("POST", "/v1/mcp/remove", Some(json!({ "name": "calc" })));
    http.request("POST", "/v1/mcp/remove", Some(json!({ "name": "calc" }))).problem(422);
    assert_eq!(http.request_ok("GET", "/v1/mcp", None)["servers"], json!([]));
}

#[test]
fn servers_of_a_session_are_controlled_and_added_while_it_runs() {
    let (fixture, scripted) = (fixture(), ScriptedMcpProgram::new(json!({})));
    fixture.script(HELLO);
    let managed = fixture.path("managed.toml");
    std::fs::write(&managed, "[managed]\ndeny-mcp = [{ name = 'denied' }]\n").unwrap();
    let (command, args) = scripted.command();
    let spec = json!({ "command": command, "args": args });
    let server = super::serve_with(fixture.bosun(["serve", "--json"]).env("BOSUN_MANAGED", &managed));
    let http = &server.http;
    let servers = json!({ "calc": spec, "denied": spec });
    let begun = http.request_ok("POST", "/v1/sessions", Some(json!({ "prompt": "hello", "mcpServers": servers })));
    let path = format!("/v1/sessions/{}/mcp", begun["id"].as_str().unwrap());
    let listed = |http: &testkit::http::Http| states(&http.request_ok("GET", &path, None), "status");
    assert_eq!(listed(http), [row("calc", "ready"), row("denied", "failed")]);
    let post = |action: &str, body: Value| http.request("POST", &format!("{path}/{action}"), Some(body));
    assert_eq!(post("reconnect", json!({ "name": "calc" })).status, 204);
    assert_eq!(listed(http)[0], row("calc", "connected"));
    assert_eq!(post("toggle", json!({ "name": "calc", "enabled": false })).status, 204);
    assert_eq!(listed(http)[0], row("calc", "disabled"));
    post("reconnect", json!({ "name": "calc" })).problem(422);
    post("toggle", json!({ "name": "nix", "enabled": false })).problem(422);
    let more = json!({ "servers": { "more": spec, "denied": spec } });
    let set = post("servers", more).json();
    assert_eq!(set["added"], json!(["more"]));
    assert!(set["errors"]["denied"].as_str().unwrap().contains("denies it"), "{set}");
    assert_eq!(listed(http), [row("calc", "disabled"), row("denied", "failed"), row("more", "ready")]);
    assert_eq!(scripted.pids().len(), 1);
}
