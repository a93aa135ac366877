//! Flags as the options of a session.

use std::num::{NonZeroU32, NonZeroU64};

use protocol::{Seconds, SessionOptions, Usd};

use super::{DefinitionArgs, FleetCheckArgs, McpServeArgs, PermissionArgs, RunArgs};

impl PermissionArgs {
    /// These flags as options.
    pub(crate) fn session_options(&self) -> SessionOptions {
        let rules = |lines: &[config::RuleLine]| lines.iter().map(|line| line.text().to_owned()).collect();
        SessionOptions {
            permission: self.mode(),
            allow: rules(&self.allow),
            ask: rules(&self.ask),
            deny: rules(&self.deny),
            add_dirs: self.add_dir.clone(),
            settings: self.settings.clone(),
            setting_sources: self.settings_scopes(),
            ..SessionOptions::default()
        }
    }
}

impl DefinitionArgs {
    /// These flags as options.
    pub(crate) fn session_options(&self) -> SessionOptions {
        SessionOptions {
            agents_source: self.agents.clone(),
            plugin_dirs: self.plugin_dir.clone(),
            ..SessionOptions::default()
        }
    }
}

impl FleetCheckArgs {
    /// These flags as options.
    pub(crate) fn session_options(&self) -> SessionOptions {
        let SessionOptions { agents_source, plugin_dirs, .. } = self.definitions.session_options();
        SessionOptions {
            cwd: self.directory.clone(),
            model: self.model.clone(),
            agents_source,
            plugin_dirs,
            ..self.permissions.session_options()
        }
    }
}

impl McpServeArgs {
    /// These flags as the options of every session.
    pub(crate) fn session_options(&self) -> SessionOptions {
        let SessionOptions { agents_source, plugin_dirs, .. } = self.definitions.session_options();
        SessionOptions {
            model: self.model.clone(),
            effort: self.effort.map(Into::into),
            agent: self.agent.clone(),
            max_turns: self.max_turns.and_then(NonZeroU32::new),
            max_budget_usd: self.max_budget_usd.map(Usd),
            max_tokens: self.max_tokens_total.and_then(NonZeroU64::new),
            timeout_seconds: self.timeout.map(Seconds),
            max_agents: self.limits.max_agents,
            max_depth: self.limits.max_depth,
            max_total_agents: self.limits.max_total_agents,
            agents_source,
            plugin_dirs,
            mcp_sources: self.mcp.sources(),
            only_these_mcp_servers: self.mcp.strict_mcp_config,
            ask_user: self.no_ask_user.then_some(false),
            ask_wait_seconds: self.ask_wait.map(Seconds),
            ..self.permissions.session_options()
        }
    }
}

impl RunArgs {
    /// These flags as options.
    pub(crate) fn session_options(&self) -> SessionOptions {
        let SessionOptions { agents_source, plugin_dirs, .. } = self.definitions.session_options();
        SessionOptions {
            cwd: self.directory.clone(),
            model: self.model.clone(),
            effort: self.effort.map(Into::into),
            mode: self.mode.session_mode(),
            plan_exit: self.mode.plan_exit,
            max_turns: self.max_turns.and_then(NonZeroU32::new),
            max_budget_usd: self.max_budget_usd.map(Usd),
            max_tokens: self.max_tokens_total.and_then(NonZeroU64::new),
            timeout_seconds: self.timeout.map(Seconds),
            max_agents: self.limits.max_agents,
            max_depth: self.limits.max_depth,
            max_total_agents: self.limits.max_total_agents,
            max_continues: self.mode.max_continues,
            list: self.list.clone(),
            agent: self.agent.clone(),
            agents_source,
            plugin_dirs,
            strict: self.strict,
            mcp_sources: self.mcp.sources(),
            only_these_mcp_servers: self.mcp.strict_mcp_config,
            ask_user: self.no_ask_user.then_some(false),
            ask_wait_seconds: self.ask_wait().map(Seconds),
            record: self.record.clone(),
            ..self.permissions.session_options()
        }
    }
}
