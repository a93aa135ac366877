//! The contents of one settings file: every key is optional, every unknown key an error.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use protocol::{ListName, McpServerSpec, ReasoningEffort, Usd};
use serde::{Deserialize, Serialize};

use crate::mcp_servers::McpServerMatch;
use crate::permissions::{PermissionModeSetting, RuleLine};
use crate::provider::ProviderFile;
use crate::time::DurationSetting;
use crate::variables::VariablePattern;

/// The settings of one layer; any may be absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SettingsFile {
    /// The model to use.
    pub model: Option<String>,
    /// The model's reasoning effort.
    pub effort: Option<ReasoningEffort>,
    /// Maximum turns of one run.
    #[serde(alias = "max_turns")]
    pub max_turns: Option<u32>,
    /// The budget of a session.
    #[serde(default)]
    pub budget: BudgetSettings,
    /// Timeouts of requests to providers.
    #[serde(default)]
    pub network: NetworkSettings,
    /// Providers of models, by name.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderFile>,
    /// Limits on the number of agents.
    #[serde(default)]
    pub limits: LimitSettings,
    /// Where agents come from, and which models they get.
    #[serde(default)]
    pub agents: AgentSettings,
    /// Optional features.
    #[serde(default)]
    pub features: FeatureSettings,
    /// How long things are kept.
    #[serde(default)]
    pub retention: RetentionSettings,
    /// How much output is kept.
    #[serde(default)]
    pub output: OutputSettings,
    /// The shared list that agents use.
    #[serde(default)]
    pub lists: ListSettings,
    /// Permission rules and mode.
    #[serde(default)]
    pub permissions: PermissionSettings,
    /// Folders that tool calls may reach.
    #[serde(default)]
    pub workspace: WorkspaceSettings,
    /// MCP servers.
    #[serde(default)]
    pub mcp: McpSettings,
    /// The environment of started programs.
    #[serde(default)]
    pub environment: EnvironmentSettings,
    /// The administrator's restrictions; allowed only in managed files.
    pub managed: Option<ManagedRestrictions>,
}

/// The budget of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BudgetSettings {
    /// Maximum US dollars.
    pub usd: Option<Usd>,
    /// Maximum tokens of all kinds.
    pub tokens: Option<NonZeroU64>,
    /// Maximum US dollars per day, for all sessions together.
    #[serde(alias = "day_usd")]
    pub day_usd: Option<Usd>,
}

/// Timeouts of requests to providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkSettings {
    /// To establish a connection.
    #[serde(alias = "connect_timeout")]
    pub connect_timeout: Option<DurationSetting>,
    /// Until the first byte of an answer.
    #[serde(alias = "first_byte_timeout")]
    pub first_byte_timeout: Option<DurationSetting>,
    /// Between bytes of an answer.
    #[serde(alias = "idle_timeout")]
    pub idle_timeout: Option<DurationSetting>,
}

/// Limits on a session's agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitSettings {
    /// Maximum number of agents that run at once.
    pub live: Option<u32>,
    /// Maximum nesting depth of agents.
    pub depth: Option<u32>,
    /// Maximum number of agents that a session may start.
    pub total: Option<u32>,
    /// Maximum number of agents that all subagents together may start per minute.
    #[serde(alias = "spawns_per_minute")]
    pub spawns_per_minute: Option<u32>,
    /// Maximum number of agents of each type that run at once.
    #[serde(default, alias = "per_type")]
    pub per_type: BTreeMap<String, NonZeroU32>,
    /// How often autopilot tells the root to continue.
    pub continues: Option<u32>,
    /// Maximum turns for one objective on autopilot, if `max-turns` is not set.
    #[serde(alias = "autopilot_turns")]
    pub autopilot_turns: Option<u32>,
    /// Milliseconds that a background agent's result waits for other results, to be delivered together.
    #[serde(alias = "result_window_ms")]
    pub result_window_ms: Option<u64>,
    /// Seconds for the last turn of a task that is asked to stop.
    #[serde(alias = "grace_secs")]
    pub grace_secs: Option<u64>,
    /// Seconds of silence after which a task counts as stalled.
    #[serde(alias = "stall_secs")]
    pub stall_secs: Option<NonZeroU64>,
    /// Seconds of silence after which a task is aborted.
    #[serde(alias = "abort_secs")]
    pub abort_secs: Option<NonZeroU64>,
    /// Seconds after which a call of an MCP server's tool moves to the background.
    #[serde(alias = "mcp_background_secs")]
    pub mcp_background_secs: Option<u64>,
    /// Memory limit of each process of a command, in megabytes.
    #[serde(alias = "command_memory_mb")]
    pub command_memory_mb: Option<NonZeroU64>,
}

/// Where agents come from, and which models they get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AgentSettings {
    /// The address of a remote catalogue.
    pub catalog: Option<String>,
    /// The variable with the catalogue's access token.
    #[serde(alias = "catalog_token_env")]
    pub catalog_token_env: Option<String>,
    /// The model of agents that prefer a small one.
    #[serde(alias = "small_model")]
    pub small_model: Option<String>,
    /// The model of agents that prefer one of another family.
    #[serde(alias = "other_model")]
    pub other_model: Option<String>,
    /// How many times more expensive than the session's model an agent's model may be.
    #[serde(alias = "cost_factor")]
    pub cost_factor: Option<f64>,
    /// Policy for agents whose model is more expensive.
    #[serde(alias = "expensive_model")]
    pub expensive_model: Option<ExpensiveModelSetting>,
    /// Whether agents may use a model whose price is unknown.
    #[serde(alias = "allow_unpriced")]
    pub allow_unpriced: Option<bool>,
    /// Recommended maximum length of all agent descriptions together, in characters.
    #[serde(alias = "description_limit")]
    pub description_limit: Option<usize>,
}

/// Policy for an agent whose model is too expensive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpensiveModelSetting {
    /// It is not started.
    #[default]
    Refuse,
    /// It runs with the session's model, and the change is shown.
    Downgrade,
}

/// Optional features.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FeatureSettings {
    /// Agents stay idle when done, so that a message can wake them.
    #[serde(alias = "multi_turn")]
    pub multi_turn: Option<bool>,
    /// Whether MCP servers may do calls as tasks of their own.
    #[serde(alias = "mcp_tasks")]
    pub mcp_tasks: Option<bool>,
    /// An agent that reviews past work on its own.
    pub subconscious: Option<bool>,
    /// A root that only delegates.
    pub coordinator: Option<bool>,
    /// Agents that start work on their own.
    pub proactive: Option<bool>,
    /// Prompts that ask models to work in parallel.
    #[serde(alias = "parallelism_prompts")]
    pub parallelism_prompts: Option<bool>,
    /// Titles of sessions, chosen by a model.
    #[serde(alias = "session_titles")]
    pub session_titles: Option<bool>,
    /// Suggestions for the user's next prompt.
    #[serde(alias = "prompt_suggestions")]
    pub prompt_suggestions: Option<bool>,
}

/// How long things are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RetentionSettings {
    /// Days that `bosun gc` keeps a session after its last event.
    pub days: Option<u32>,
    /// Days that `bosun gc` leaves a checkout in the trash.
    #[serde(alias = "trash_days")]
    pub trash_days: Option<u32>,
}

/// The shared list that agents use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ListSettings {
    /// `session`, `project`, or `team:` and a name.
    #[serde(rename = "use")]
    pub chosen: Option<ListName>,
}

/// How much output is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutputSettings {
    /// Bytes of output kept on disk of one background command.
    #[serde(alias = "command_bytes")]
    pub command_bytes: Option<u64>,
    /// Bytes of output kept on disk of all background commands of a session.
    #[serde(alias = "session_bytes")]
    pub session_bytes: Option<u64>,
    /// Disk space that must stay free, in bytes: below it, output is no longer kept.
    #[serde(alias = "min_free_bytes")]
    pub min_free_bytes: Option<u64>,
}

/// Permission rules and mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PermissionSettings {
    /// The permission mode, which decides calls that no rule matches.
    pub mode: Option<PermissionModeSetting>,
    /// Calls that may run.
    #[serde(default)]
    pub allow: Vec<RuleLine>,
    /// Calls that the user is asked about.
    #[serde(default)]
    pub ask: Vec<RuleLine>,
    /// Calls that may not run.
    #[serde(default)]
    pub deny: Vec<RuleLine>,
}

/// Folders that tool calls may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkspaceSettings {
    /// Additional folders that file tools may reach.
    #[serde(default, alias = "add_dirs")]
    pub add_dirs: Vec<PathBuf>,
}

/// The environment of started programs. Variables with keys are hidden by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnvironmentSettings {
    /// Variables to hide from programs; their values are never written.
    #[serde(default)]
    pub hide: Vec<VariablePattern>,
    /// Variables to pass although they would be hidden.
    #[serde(default)]
    pub pass: Vec<VariablePattern>,
    /// Variables to set, overriding the environment.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct McpSettings {
    /// The servers, by name.
    #[serde(default)]
    pub servers: BTreeMap<String, McpServerSpec>,
}

/// The administrator's restrictions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ManagedRestrictions {
    /// Features that no user may use.
    #[serde(default)]
    pub forbid: Vec<ForbiddableFeature>,
    /// The only MCP servers that may be used; all when absent.
    #[serde(alias = "allow_mcp")]
    pub allow_mcp: Option<Vec<McpServerMatch>>,
    /// MCP servers that may not be used.
    #[serde(default, alias = "deny_mcp")]
    pub deny_mcp: Vec<McpServerMatch>,
}

/// Features that can be forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForbiddableFeature {
    /// The mode that allows everything.
    AllowAll,
    /// Programs that run on events of a session.
    Hooks,
    /// Commands that run while a skill is read.
    SkillShell,
    /// Tools of MCP servers.
    Mcp,
}
