//! Size limits and timeouts for servers.

use std::path::PathBuf;
use std::time::Duration;

use crate::McpNegotiation;

/// Options for the connection to a server.
#[derive(Debug, Clone, Default)]
pub struct McpOptions {
    /// Timeouts.
    pub timeouts: McpTimeouts,
    /// Size limits.
    pub limits: McpLimits,
    /// The field of `_meta` that carries the id of the model's tool call, if the client's SDK defines one.
    pub call_id_field: Option<&'static str>,
    /// Which revisions of the protocol are offered.
    pub negotiation: McpNegotiation,
    /// Whether the server may ask the session's model questions.
    pub sampling: SamplingPolicy,
    /// The folders that the server may work with.
    pub roots: Vec<PathBuf>,
    /// Whether the server may do calls as tasks of its own.
    pub tasks: McpTaskSupport,
}

/// Whether servers may do calls as tasks of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpTaskSupport {
    /// They are told that they may.
    #[default]
    Offered,
    /// They are not told so.
    Off,
}

/// Whether a server may ask the session's model questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SamplingPolicy {
    /// It may not.
    #[default]
    Refused,
    /// It may, as the user's settings say.
    Allowed,
}

/// Timeouts for a server's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpTimeouts {
    /// For `initialize`.
    pub initialize: Duration,
    /// For one page of its tools.
    pub list: Duration,
    /// For one tool call.
    pub call: Duration,
    /// For a task that the server does.
    pub task: Duration,
}

impl Default for McpTimeouts {
    fn default() -> McpTimeouts {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        McpTimeouts {
            initialize: Duration::from_secs(30),
            list: Duration::from_secs(30),
            call: minutes(60),
            task: minutes(24 * 60),
        }
    }
}

/// Size limits for a server's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// Maximum pages of tools.
    pub max_pages: usize,
    /// Maximum number of tools.
    pub max_tools: usize,
    /// Maximum bytes of one tool's description.
    pub max_description_bytes: usize,
    /// Maximum bytes of one tool's input schema.
    pub max_schema_bytes: usize,
    /// Maximum bytes of text in the result of one call.
    pub max_text_bytes: usize,
}

impl Default for McpLimits {
    fn default() -> McpLimits {
        McpLimits {
            max_pages: 64,
            max_tools: 512,
            max_description_bytes: 4 * 1024,
            max_schema_bytes: 64 * 1024,
            max_text_bytes: 1024 * 1024,
        }
    }
}
