//! `bosun mcp serve`: Bosun as an MCP server, with the real clients of other SDKs.

mod agents;
mod clients;
mod kills;

use std::fs;

use serde_json::{Value, json};
use testkit::binary::{BinaryExit, BinaryFixture, RunningBinary};
use testkit::http::{Http, HttpReply};

/// What the model of agents says. A `held` agent works while a file called `hold` exists.
const SCRIPT: &str = r#"
version: 1
rules:
  - when: { turn: 1, prompt: "held" }
    answer:
      - call: { id: held, tool: shell, input: { command: "echo held >> witness; while [ -e hold ]; do sleep 0.02; done; echo on" } }
  - when: { turn: 1, prompt: "ask" }
    answer:
      - call: { id: asked, tool: shell, input: { command: "echo asked >> witness" } }
  - when: { turn: 1, prompt: "say hello" }
    answer: [ say: Hello from Bosun. ]
  - answer: [ say: It is done. ]
"#;

/// A home with a server for MCP clients; its session host ends with the test.
struct McpFixture {
    fixture: BinaryFixture,
}

impl McpFixture {
    fn new() -> McpFixture {
        let fixture = crate::fixture();
        fixture.script(SCRIPT);
        McpFixture { fixture }
    }

    /// A server over HTTP.
    #[track_caller]
    fn serve(&self, more: &[&str]) -> McpServerProcess {
        let process = self.fixture.bosun([&["mcp", "serve", "--http", "--json"], more].concat()).start();
        process.await_stdout("\n");
        let announced: Value = serde_json::from_str(process.stdout().trim()).unwrap();
        McpServerProcess { process, announced }
    }

    /// Keeps `held` agents at work until the file is removed.
    fn hold(&self) {
        fs::write(self.fixture.path("hold"), "").unwrap();
    }

    /// What shell calls wrote.
    fn witness(&self) -> String {
        fs::read_to_string(self.fixture.path("witness")).unwrap_or_default()
    }
}

impl Drop for McpFixture {
    fn drop(&mut self) {
        fs::remove_file(self.fixture.path("hold")).ok();
        // Without a host there is nothing to stop.
        let _stopped: BinaryExit = self.fixture.bosun(["serve", "--stop"]).run();
    }
}

/// A server over HTTP, and what it announced.
struct McpServerProcess {
    process: RunningBinary,
    announced: Value,
}

impl McpServerProcess {
    fn http(&self) -> Http {
        let url = self.announced["url"].as_str().unwrap().trim_end_matches("/mcp");
        Http::new(url, self.announced["token"].as_str().unwrap())
    }

    /// Sends a request of 2026-07-28 from a client with these capabilities; returns its answer.
    #[track_caller]
    fn request(&self, capabilities: &Value, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let name = params["name"].as_str().or(params["taskId"].as_str()).map(str::to_owned);
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let http = self.http();
        let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let reply: HttpReply = http.send_raw(&format!(
            "{}Content-Type: application/json\r\nAccept: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}",
            http.head("POST", "/mcp"),
            body.len()
        ));
        reply.json()
    }

    /// Calls a tool as a client without capabilities; returns its structured result.
    #[track_caller]
    fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.request(&json!({}), "tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        assert!(answer["result"]["structuredContent"].is_object(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }
}
