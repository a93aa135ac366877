//! The options with which a session is started, resumed or forked, for every kind of client.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ListName, McpServerSpec, PermissionMode, PlanAction, ReasoningEffort, Seconds, SessionMode, Usd};

/// Options for starting, resuming or forking a session. Absent options come from the resumed session, or from the
/// settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SessionOptions {
    /// The first prompt, sent by the client or server that opens the session.
    pub prompt: Option<String>,
    /// The folder it works in; by default where it worked before, or the folder of the process that runs it.
    pub cwd: Option<PathBuf>,
    /// The model, in the syntax of `--model`.
    pub model: Option<String>,
    /// The model's reasoning effort.
    pub effort: Option<ReasoningEffort>,
    /// How independently the root works.
    pub mode: Option<SessionMode>,
    /// What happens when a plan is ready and nobody decides on it; `exit_only` when absent.
    pub plan_exit: Option<PlanAction>,
    /// What happens to calls that no rule matches.
    pub permission: Option<PermissionMode>,
    /// Rules for calls that are allowed, such as `shell(git status)`.
    pub allow: Vec<String>,
    /// Rules for calls that need a decision, even if another rule allows them.
    pub ask: Vec<String>,
    /// Rules for calls that are denied, even if another rule allows them.
    pub deny: Vec<String>,
    /// More folders that file tools may use.
    pub add_dirs: Vec<PathBuf>,
    /// More settings, as JSON text or as the name of a file; the other options override them.
    pub settings: Option<String>,
    /// The settings files to read; all of them when absent.
    pub setting_sources: Option<Vec<SettingsFileScope>>,
    /// Uses the agents, skills and slash commands of a project that the user has not trusted, without their hooks and
    /// MCP servers.
    pub untrusted_definitions: bool,
    /// Asks about files outside the workspace, instead of refusing them.
    pub ask_outside_workspace: bool,
    /// Asks about reading too, unless a rule or the mode allows everything.
    pub ask_reads: bool,
    /// Maximum turns of one activation.
    pub max_turns: Option<NonZeroU32>,
    /// Maximum total cost in US dollars.
    pub max_budget_usd: Option<Usd>,
    /// Maximum total tokens.
    pub max_tokens: Option<NonZeroU64>,
    /// Ends an activation after this time, with one last answer.
    pub timeout_seconds: Option<Seconds>,
    /// Maximum number of agents that run at once.
    pub max_agents: Option<u32>,
    /// Maximum nesting depth of agents.
    pub max_depth: Option<u32>,
    /// Maximum number of agents that the session may start.
    pub max_total_agents: Option<u32>,
    /// How often the root is told to continue on autopilot before it stops.
    pub max_continues: Option<u32>,
    /// The shared list of its agents.
    pub list: Option<ListName>,
    /// The agent that is the root, instead of the default one.
    pub agent: Option<String>,
    /// More agents, by name, in the syntax of `--agents`.
    pub agents: Option<Map<String, Value>>,
    /// More agents, as JSON text or as the name of a file, in the syntax of `--agents`.
    pub agents_source: Option<String>,
    /// Folders with plugins.
    pub plugin_dirs: Vec<PathBuf>,
    /// Folders with skills, stronger than all others.
    pub skill_dirs: Vec<PathBuf>,
    /// Skills that are switched off, by name.
    pub disabled_skills: Vec<String>,
    /// MCP servers, by name.
    pub mcp_servers: BTreeMap<String, McpServerSpec>,
    /// More MCP servers, as JSON text or as the names of files, in the syntax of `--mcp-config`.
    pub mcp_sources: Vec<String>,
    /// Uses no MCP servers but those of the two options above.
    pub only_these_mcp_servers: bool,
    /// MCP servers of other places that are switched off, by name.
    pub disabled_mcp_servers: Vec<String>,
    /// Refuses to start if an agent, skill, hook or plugin has any problem.
    pub strict: bool,
    /// Whether the model may ask questions; yes when absent.
    pub ask_user: Option<bool>,
    /// How many seconds a call waits for a decision before it is denied; without limit when absent.
    pub ask_wait_seconds: Option<Seconds>,
    /// Writes every answer of the model to this file, for the model `replay/FILE`.
    pub record: Option<PathBuf>,
}

impl SessionOptions {
    /// These options without those that a session stores itself, which may have changed since it was opened with them.
    pub fn without_stored(self) -> SessionOptions {
        let SessionOptions {
            prompt: _,
            cwd: _,
            model: _,
            effort: _,
            mode: _,
            permission: _,
            allow: _,
            ask: _,
            deny: _,
            add_dirs: _,
            max_turns: _,
            max_budget_usd: _,
            max_tokens: _,
            list: _,
            agent: _,
            plan_exit,
            settings,
            setting_sources,
            untrusted_definitions,
            ask_outside_workspace,
            ask_reads,
            timeout_seconds,
            max_agents,
            max_depth,
            max_total_agents,
            max_continues,
            agents,
            agents_source,
            plugin_dirs,
            skill_dirs,
            disabled_skills,
            mcp_servers,
            mcp_sources,
            only_these_mcp_servers,
            disabled_mcp_servers,
            strict,
            ask_user,
            ask_wait_seconds,
            record,
        } = self;
        SessionOptions {
            plan_exit,
            settings,
            setting_sources,
            untrusted_definitions,
            ask_outside_workspace,
            ask_reads,
            timeout_seconds,
            max_agents,
            max_depth,
            max_total_agents,
            max_continues,
            agents,
            agents_source,
            plugin_dirs,
            skill_dirs,
            disabled_skills,
            mcp_servers,
            mcp_sources,
            only_these_mcp_servers,
            disabled_mcp_servers,
            strict,
            ask_user,
            ask_wait_seconds,
            record,
            ..SessionOptions::default()
        }
    }
}

/// Groups of settings files that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SettingsFileScope {
    /// The user's files.
    User,
    /// The project's files.
    Project,
    /// The user's file for the project.
    Local,
}

impl SettingsFileScope {
    /// All scopes.
    pub const ALL: [SettingsFileScope; 3] =
        [SettingsFileScope::User, SettingsFileScope::Project, SettingsFileScope::Local];

    /// The scope in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            SettingsFileScope::User => "user",
            SettingsFileScope::Project => "project",
            SettingsFileScope::Local => "local",
        }
    }

    /// The scope with this name.
    pub fn from_name(name: &str) -> Option<SettingsFileScope> {
        SettingsFileScope::ALL.into_iter().find(|scope| scope.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_read_as_clients_write_them_and_unknown_ones_are_refused() {
        let written = json!({
            "model": "script/a.yaml", "mode": "plan", "permission": "acceptEdits", "allow": ["shell(git status)"],
            "maxTurns": 3, "maxBudgetUsd": 0.5, "askWaitSeconds": 1.5, "settingSources": ["user"],
        });
        let read: SessionOptions = serde_json::from_value(written).unwrap();
        let expected = SessionOptions {
            model: Some("script/a.yaml".into()),
            mode: Some(SessionMode::Plan),
            permission: Some(PermissionMode::AcceptEdits),
            allow: vec!["shell(git status)".into()],
            max_turns: NonZeroU32::new(3),
            max_budget_usd: Some(Usd(500_000)),
            ask_wait_seconds: Some(Seconds(Duration::from_millis(1_500))),
            setting_sources: Some(vec![SettingsFileScope::User]),
            ..SessionOptions::default()
        };
        assert_eq!(read, expected);
        for wrong in [json!({ "maxTurns": 0 }), json!({ "max-turns": 3 }), json!({ "mode": "fast" })] {
            assert!(serde_json::from_value::<SessionOptions>(wrong).is_err());
        }
    }
}
