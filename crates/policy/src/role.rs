//! The tools that an agent has.

use std::collections::BTreeSet;

use protocol::PermissionMode;

/// Which tools an agent may call at all. The default permits every tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentRole {
    /// The only tools it has; every tool when absent.
    pub tools: Option<BTreeSet<String>>,
    /// The beginnings of the names of further tools that it has, those of programs outside.
    pub prefixes: Vec<String>,
    /// Tools it does not have, even if listed in `tools`.
    pub denied: BTreeSet<String>,
    /// A mode that replaces the session's if it is stricter.
    pub mode: Option<PermissionMode>,
}

impl AgentRole {
    /// Whether the agent has this tool.
    pub fn permits(&self, tool: &str) -> bool {
        let is_outside = || self.prefixes.iter().any(|prefix| tool.starts_with(prefix));
        let has = self.tools.as_ref().is_none_or(|tools| tools.contains(tool) || is_outside());
        has && !self.denied.contains(tool)
    }
}
