//! How much a server may say, and how long it may take.

use std::time::Duration;

/// How a server is spoken with.
#[derive(Debug, Clone, Default)]
pub struct McpOptions {
    /// How long it may take.
    pub deadlines: McpTimeouts,
    /// How much it may say.
    pub limits: McpLimits,
    /// The field of `_meta` in which it is told which tool call of the model it answers, if its family knows one.
    pub call_field: Option<&'static str>,
}

/// How long a server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpTimeouts {
    /// For the greeting.
    pub initialize: Duration,
    /// For one page of its tools.
    pub list: Duration,
    /// For one call of a tool.
    pub call: Duration,
}

impl Default for McpTimeouts {
    fn default() -> McpTimeouts {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        McpTimeouts { initialize: Duration::from_secs(30), list: Duration::from_secs(30), call: minutes(60) }
    }
}

/// How much a server may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpLimits {
    /// Most pages of tools.
    pub pages: usize,
    /// Most tools.
    pub tools: usize,
    /// Most bytes of what a model is told of one tool in words.
    pub description: usize,
    /// Most bytes of the schema of one tool's input.
    pub schema: usize,
    /// Most bytes of text that one call gives.
    pub text: usize,
}

impl Default for McpLimits {
    fn default() -> McpLimits {
        McpLimits { pages: 64, tools: 512, description: 4 * 1024, schema: 64 * 1024, text: 1024 * 1024 }
    }
}
