//! The tools that an agent has.

use std::collections::BTreeSet;

use protocol::PermissionMode;

/// Which tools an agent may call at all. The default permits every tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRole {
    /// The only tools it has; every tool when absent.
    pub tools: Option<BTreeSet<String>>,
    /// Tools it does not have, even if listed in `tools`.
    pub denied: BTreeSet<String>,
    /// A mode that replaces the session's if it is stricter.
    pub mode: Option<PermissionMode>,
}

impl AgentRole {
    /// Whether the agent has this tool.
    pub fn permits(&self, tool: &str) -> bool {
        !self.denied.contains(tool) && self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }
}
