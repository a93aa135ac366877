//! MCP servers of others, as `cargo xtask mcp` installs them.

#![expect(clippy::unwrap_used, reason = "a test fails here")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::installed::{InstalledPackages, on_path};
use crate::mcp::ServingProgram;

/// The servers and the SDKs.
pub(crate) const PACKAGES: InstalledPackages = InstalledPackages { variable: "BOSUN_MCP", folder: "mcp" };

/// An MCP server that somebody else wrote, or that uses the SDK of somebody else.
#[derive(Debug)]
pub struct McpPeer {
    command: PathBuf,
    args: Vec<String>,
    /// The copy of a program that node runs.
    _folder: Option<TempDir>,
}

impl McpPeer {
    /// A program for node. It runs as a copy next to the packages, where node searches for them.
    #[track_caller]
    pub fn node(program: &Path, args: &[&str]) -> McpPeer {
        let folder = tempfile::tempdir().unwrap();
        symlink(PACKAGES.path("node/node_modules"), folder.path().join("node_modules")).unwrap();
        let copy = folder.path().join(program.file_name().unwrap());
        fs::copy(program, &copy).unwrap();
        McpPeer { _folder: Some(folder), ..McpPeer::new(on_path("node"), &copy.to_string_lossy(), args) }
    }

    /// A program that a package for node contains.
    #[track_caller]
    pub fn node_package(program: &str, args: &[&str]) -> McpPeer {
        let program = PACKAGES.path("node/node_modules").join(program);
        McpPeer::new(on_path("node"), &program.to_string_lossy(), args)
    }

    /// A program for Python.
    #[track_caller]
    pub fn python(program: &Path, args: &[&str]) -> McpPeer {
        McpPeer::new(PACKAGES.path("python/bin/python"), &program.to_string_lossy(), args)
    }

    /// A program for Python with the SDK 1.x.
    #[track_caller]
    pub fn python_1(program: &Path, args: &[&str]) -> McpPeer {
        McpPeer::new(PACKAGES.path("python-1/bin/python"), &program.to_string_lossy(), args)
    }

    /// A program that a package for Python installs.
    #[track_caller]
    pub fn python_package(program: &str, args: &[&str]) -> McpPeer {
        let program = PACKAGES.path("python/bin").join(program);
        McpPeer::new(PACKAGES.path("python/bin/python"), &program.to_string_lossy(), args)
    }

    fn new(command: PathBuf, program: &str, args: &[&str]) -> McpPeer {
        let args = std::iter::once(program).chain(args.iter().copied()).map(str::to_owned);
        McpPeer { command, args: args.collect(), _folder: None }
    }

    /// It as a value of `mcpServers`.
    pub fn settings(&self) -> Value {
        json!({ "command": self.command, "args": self.args })
    }

    /// Starts it, if it is a program that serves HTTP and prints its URL.
    pub fn serve(&self) -> ServingProgram {
        ServingProgram::start(&self.command, &self.args)
    }
}
