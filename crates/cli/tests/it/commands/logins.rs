//! Logins to MCP servers.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use testkit::mcp::ScriptedMcpProgram;

use crate::fixture;

/// Fetches an address on loopback; returns the answer.
fn fetch(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The files below a folder that contain a text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text)) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_user_signs_in_to_a_server_and_out_of_it() {
    let fixture = fixture();
    let server = ScriptedMcpProgram::new(json!({ "revision": "stateless", "oauth": 100 })).serve();
    let state = || fixture.bosun(["mcp", "list", "--json"]).run().expect(0).json()["servers"][0]["state"].clone();
    fixture.bosun(["mcp", "add", "calc", "--url", server.url()]).run().expect(0);
    assert_eq!(state(), "ready", "whether it wants a login is not known before it is used");
    fixture.bosun(["mcp", "test", "calc"]).run().expect(2).says(&["it needs a login: run `bosun mcp login calc`"]);
    assert_eq!(state(), "needsLogin");
    let list = fixture.bosun(["mcp", "list"]).run().expect(0);
    assert!(list.stdout.contains("calc  needs login: run `bosun mcp login calc`"), "{}", list.stdout);
    let doctor = fixture.bosun(["doctor"]).run();
    assert!(doctor.stdout.contains("`calc` needs a login: run `bosun mcp login calc`"), "{}", doctor.stdout);

    let login = fixture.bosun(["mcp", "login", "calc", "--json"]).start();
    login.await_stdout("\n");
    let waiting: Value = serde_json::from_str(login.stdout().lines().next().unwrap()).unwrap();
    assert_eq!(waiting["state"], "waiting");
    let redirect = fetch(waiting["url"].as_str().unwrap());
    let callback = redirect.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
    assert!(callback.starts_with("http://127.0.0.1:"), "{callback}");
    assert!(fetch(&callback.replace("state=", "state=other")).starts_with("HTTP/1.1 404"), "another login's answer");
    assert!(fetch(callback).contains("return to the terminal"));
    let lines = login.wait().expect(0).json_lines();
    assert_eq!(lines[1], json!({ "name": "calc", "state": "signed-in", "tools": 25 }));

    assert_eq!(state(), "ready");
    let tested = fixture.bosun(["mcp", "test", "calc"]).run().expect(0);
    for shown in ["mcp__calc__add", "/mcp__calc__review FILE"] {
        assert!(tested.stdout.contains(shown), "{shown}: {}", tested.stdout);
    }
    let file = fixture.home().join("mcp-logins.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(files_with(&fixture.home(), "access-token-"), ["mcp-logins.json"]);

    fixture.bosun(["mcp", "logout", "calc"]).run().expect(0).says(&["calc: signed out"]);
    assert_eq!(files_with(&fixture.home(), "-token-"), [""; 0]);
    assert_eq!(server.program().heard("/revoke").len(), 1);
    fixture.bosun(["mcp", "logout", "calc"]).run().expect(0).says(&["there was no login"]);
    fixture.bosun(["mcp", "login", "none"]).run().expect(2).says(&["there is no MCP server `none` here"]);
}
