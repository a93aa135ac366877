//! Programs written for other agents' SDKs, with the real binary.

mod claude;
mod claude_kills;
pub(crate) mod copilot;
mod copilot_handles;
mod copilot_kills;
mod copilot_subagents;
mod docs;
mod options;

use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::mcp::{ScriptedMcpProgram, ScriptedMcpUrl};

/// The path of a test program.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk").join(name)
}

/// MCP servers that add numbers: a program, and one at a URL that wants the token `t1`.
fn calculators() -> (ScriptedMcpProgram, ScriptedMcpUrl) {
    (ScriptedMcpProgram::new(json!({})), ScriptedMcpProgram::new(json!({ "token": "t1" })).serve())
}

/// A server as SDKs configure it.
fn as_json(server: &ScriptedMcpProgram) -> String {
    let (command, args) = server.command();
    json!({ "command": command, "args": args }).to_string()
}
