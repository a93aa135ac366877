//! Errors of MCP servers.

use std::time::Duration;

use crate::OAuthError;

/// Why a server cannot be used, or why a request to it failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The message could not be sent, or no answer came back.
    #[error("the MCP server `{server}` cannot be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// Why, as text.
        why: String,
    },
    /// There is no access to the server.
    #[error("the MCP server `{server}` is not available: {why}")]
    NoAccess {
        /// The server.
        server: String,
        /// Why not.
        why: OAuthError,
    },
    /// The answer took too long.
    #[error("the MCP server `{server}` did not answer `{method}` within {} s{}", .after.as_secs(), last_progress(.progress.as_deref()))]
    TimedOut {
        /// The server.
        server: String,
        /// The method of the request.
        method: &'static str,
        /// The time limit.
        after: Duration,
        /// The progress that it reported last.
        progress: Option<String>,
    },
    /// The server answered with an error.
    #[error("the MCP server `{server}` refused `{method}`: {message} (code {code})")]
    Refused {
        /// The server.
        server: String,
        /// The method of the request.
        method: &'static str,
        /// The JSON-RPC error code.
        code: i64,
        /// The server's error message, clipped.
        message: String,
    },
    /// The answer is not valid.
    #[error("the MCP server `{server}` sent an invalid answer to `{method}`: {what}")]
    Malformed {
        /// The server.
        server: String,
        /// The method of the request.
        method: &'static str,
        /// What is wrong with it.
        what: String,
    },
}

impl McpError {
    /// Whether the user must sign in first.
    pub(crate) fn needs_login(&self) -> bool {
        matches!(self, McpError::NoAccess { .. })
    }
}

fn last_progress(progress: Option<&str>) -> String {
    progress.map(|progress| format!("; its last progress was: {progress}")).unwrap_or_default()
}
