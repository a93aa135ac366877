//! Why a server is of no use, or did not do what it was asked.

use std::time::Duration;

/// Why a server is of no use, or did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// Nothing came back.
    #[error("the MCP server `{server}` cannot be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// Why, in words.
        why: String,
    },
    /// It took too long.
    #[error("the MCP server `{server}` did not answer `{method}` within {} s", .after.as_secs())]
    TimedOut {
        /// The server.
        server: String,
        /// What it was asked.
        method: &'static str,
        /// How long it had.
        after: Duration,
    },
    /// It says that it cannot.
    #[error("the MCP server `{server}` refused `{method}`: {message} (code {code})")]
    Refused {
        /// The server.
        server: String,
        /// What it was asked.
        method: &'static str,
        /// Its number for the reason.
        code: i64,
        /// The reason in its words, clipped.
        message: String,
    },
    /// What came back is not an answer.
    #[error("the MCP server `{server}` answered `{method}` with what is not an answer: {what}")]
    Malformed {
        /// The server.
        server: String,
        /// What it was asked.
        method: &'static str,
        /// What is wrong with it.
        what: String,
    },
}
