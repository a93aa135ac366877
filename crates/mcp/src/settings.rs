//! The settings of one server.

use std::path::PathBuf;
use std::time::Duration;

use net::Secret;

use crate::{McpOAuthSettings, McpRevision};

/// Shorter values are no keys, and occur in too many texts to be redacted.
const MIN_SECRET_BYTES: usize = 16;

/// A server that a session may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSettings {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub address: McpAddress,
    /// How long it may take to start and to list its tools.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How long a task of the server may take.
    pub task_timeout: Duration,
    /// The tools that agents may call, by the server's names; all when absent.
    pub tools: Option<Vec<String>>,
    /// Tools that agents may not call.
    pub denied_tools: Vec<String>,
    /// The family of revisions to speak; negotiated when absent.
    pub revision: Option<McpRevision>,
    /// Whether it may ask the session's model questions.
    pub sampling: bool,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpAddress {
    /// A program that Bosun starts.
    Program(McpProgram),
    /// A URL.
    Url {
        /// The URL.
        url: String,
        /// Headers of every request, such as `Authorization`.
        headers: Vec<(String, Secret)>,
        /// How to sign in to it.
        oauth: Box<McpOAuthSettings>,
    },
}

/// A program that is a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpProgram {
    /// A path, or a name to look for in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables in addition to those that all programs get.
    pub env: Vec<(String, Secret)>,
    /// The folder that it runs in.
    pub cwd: PathBuf,
    /// Files that it runs, with the digests that the user trusts.
    pub pinned: Vec<(PathBuf, String)>,
}

impl McpServerSettings {
    /// The default of `start_timeout`.
    pub const START_TIMEOUT: Duration = Duration::from_secs(30);

    /// The default of `call_timeout`.
    pub const CALL_TIMEOUT: Duration = Duration::from_secs(60 * 60);

    /// The default of `task_timeout`.
    pub const TASK_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

    /// The values of its headers and variables that must not be written anywhere.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let (values, oauth) = match &self.address {
            McpAddress::Program(program) => (&program.env, None),
            McpAddress::Url { headers, oauth, .. } => (headers, Some(oauth)),
        };
        let of_oauth = oauth.into_iter().flat_map(|oauth| oauth.client_secret.iter().chain(&oauth.private_key));
        let values = values.iter().map(|(_, value)| value).chain(of_oauth);
        values.filter(|value| value.reveal().len() >= MIN_SECRET_BYTES)
    }

    /// Whether agents may call a tool of the server.
    pub(crate) fn permits(&self, tool: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| name == tool);
        self.tools.as_deref().is_none_or(is_named) && !is_named(&self.denied_tools)
    }
}
