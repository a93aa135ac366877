//! Extensions from the program that drives a session: tools that it runs itself, hooks that it answers, and system
//! prompt text for the root. They are not stored: a program that resumes the session supplies its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use protocol::{HookDialect, HookSpec, find_tool};
use tools::{McpTokenSource, Tool, ToolCatalog};

use crate::agent_overrides::AgentOverrides;
use crate::joined_providers::JoinedProviders;
use crate::joined_tools::JoinedTools;
use crate::sql_tables::SqlObserver;
use crate::system_text::{SystemText, SystemTextEditor};

/// Extensions from the program that drives a session.
#[derive(Debug, Clone, Default)]
pub struct ClientExtensions {
    /// Tools that the program runs. Each replaces the tool that has this name in Bosun or in the Copilot SDK.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools of the program that come and go while the session runs.
    pub catalog: Option<Arc<dyn ToolCatalog>>,
    /// Tools of programs that join later.
    pub joined_tools: JoinedTools,
    /// What the program decides about agent definitions later.
    pub agent_overrides: AgentOverrides,
    /// Model providers that programs add later.
    pub joined_providers: JoinedProviders,
    /// The program's hooks, in addition to those of the catalogue.
    pub hooks: Vec<HookSpec>,
    /// Calls the hooks that are functions of the program.
    pub hook_driver: Option<Arc<dyn hooks::ClientHookCaller>>,
    /// Supplies tokens for MCP servers.
    pub mcp_tokens: Option<Arc<dyn McpTokenSource>>,
    /// Learns which SQL agents have run.
    pub sql_observer: Option<Arc<dyn SqlObserver>>,
    /// The root's system prompt.
    pub system_text: SystemText,
    /// Rewrites sections of it.
    pub system_editor: Option<Arc<dyn SystemTextEditor>>,
    /// Which tools agents have.
    pub offer: ToolOffer,
    /// The dialect in which models see the names of tools and arguments; Bosun's own when absent.
    pub tool_dialect: Option<HookDialect>,
}

impl ClientExtensions {
    /// The tools of all programs.
    pub(crate) fn all_tools(&self) -> Vec<Arc<dyn Tool>> {
        let joined = self.joined_tools.list();
        let is_replaced = |tool: &&Arc<dyn Tool>| joined.iter().any(|it| it.spec().name == tool.spec().name);
        self.tools.iter().filter(|tool| !is_replaced(tool)).chain(&joined).cloned().collect()
    }
}

/// Which of a session's tools its agents have, by Bosun's names. Tools of MCP servers are not meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOffer {
    /// Only these of Bosun's tools, all of which a model sees from the start; all of them when absent.
    pub only: Option<BTreeSet<String>>,
    /// All but these.
    pub without: BTreeSet<String>,
    /// These are not for the root either.
    pub without_for_root: BTreeSet<String>,
    /// The built-in agents that there are not.
    pub without_agents: BTreeSet<String>,
}

impl ToolOffer {
    /// Whether an agent has a tool, if its definition has it.
    pub(crate) fn has(&self, tool: &str, is_root: bool) -> bool {
        let is_listed = self.only.as_ref().is_none_or(|only| find_tool(tool).is_none() || only.contains(tool));
        is_listed && !self.without.contains(tool) && !(is_root && self.without_for_root.contains(tool))
    }
}
