//! Size limits and timeouts for servers.

use std::time::Duration;

/// Options for the connection to a server.
#[derive(Debug, Clone, Default)]
pub struct McpOptions {
    /// Timeouts.
    pub deadlines: McpTimeouts,
    /// Size limits.
    pub limits: McpLimits,
    /// The field of `_meta` that carries the id of the model's tool call, if the client's SDK defines one.
    pub call_field: Option<&'static str>,
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
}

impl Default for McpTimeouts {
    fn default() -> McpTimeouts {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        McpTimeouts { initialize: Duration::from_secs(30), list: Duration::from_secs(30), call: minutes(60) }
    }
}

/// Size limits for a server's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// Maximum pages of tools.
    pub pages: usize,
    /// Maximum number of tools.
    pub tools: usize,
    /// Maximum bytes of one tool's description.
    pub description: usize,
    /// Maximum bytes of one tool's input schema.
    pub schema: usize,
    /// Maximum bytes of text in the result of one call.
    pub text: usize,
}

impl Default for McpLimits {
    fn default() -> McpLimits {
        McpLimits { pages: 64, tools: 512, description: 4 * 1024, schema: 64 * 1024, text: 1024 * 1024 }
    }
}
