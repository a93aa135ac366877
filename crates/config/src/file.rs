//! What one file of settings says: every key optional, every unknown key an error.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use protocol::{ListName, ReasoningEffort};
use serde::{Deserialize, Serialize};

use crate::amount::Usd;
use crate::permissions::{PermissionModeSetting, RuleLine};
use crate::provider::ProviderFile;
use crate::time::DurationSetting;
use crate::variables::VariablePattern;

/// Settings as a layer gives them: all may be absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SettingsFile {
    /// The model to ask.
    pub model: Option<String>,
    /// How hard the model should think.
    pub effort: Option<ReasoningEffort>,
    /// Most turns of one run.
    #[serde(alias = "max_turns")]
    pub max_turns: Option<u32>,
    /// What a session may spend.
    #[serde(default)]
    pub budget: BudgetSettings,
    /// How long providers are waited for.
    #[serde(default)]
    pub network: NetworkSettings,
    /// Where models are asked, by name.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderFile>,
    /// How many agents there may be.
    #[serde(default)]
    pub limits: LimitSettings,
    /// Where agents come from, and which models they get.
    #[serde(default)]
    pub agents: AgentSettings,
    /// What is switched on.
    #[serde(default)]
    pub features: FeatureSettings,
    /// How long things are kept.
    #[serde(default)]
    pub retention: RetentionSettings,
    /// How much output is kept.
    #[serde(default)]
    pub output: OutputSettings,
    /// Which list agents share.
    #[serde(default)]
    pub lists: ListSettings,
    /// What tool calls may do.
    #[serde(default)]
    pub permissions: PermissionSettings,
    /// Where they may do it.
    #[serde(default)]
    pub workspace: WorkspaceSettings,
    /// What started programs get of the environment.
    #[serde(default)]
    pub environment: EnvironmentSettings,
    /// What whoever manages the machine forbids; only their own files may say it.
    pub managed: Option<ManagedRestrictions>,
}

/// What a session may spend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BudgetSettings {
    /// Most US dollars.
    pub usd: Option<Usd>,
    /// Most tokens of every kind.
    pub tokens: Option<NonZeroU64>,
    /// Most US dollars in a day, of all sessions together.
    #[serde(alias = "day_usd")]
    pub day_usd: Option<Usd>,
}

/// How long providers are waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkSettings {
    /// For a connection.
    #[serde(alias = "connect_timeout")]
    pub connect_timeout: Option<DurationSetting>,
    /// For the first byte of an answer.
    #[serde(alias = "first_byte_timeout")]
    pub first_byte_timeout: Option<DurationSetting>,
    /// For each further byte.
    #[serde(alias = "idle_timeout")]
    pub idle_timeout: Option<DurationSetting>,
}

/// How many agents a session may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitSettings {
    /// Agents that run at once.
    pub live: Option<u32>,
    /// How deep agents may be nested.
    pub depth: Option<u32>,
    /// Agents that a session may start in all.
    pub total: Option<u32>,
    /// Agents that agents below the root may start within a minute, all of them together.
    #[serde(alias = "spawns_per_minute")]
    pub spawns_per_minute: Option<u32>,
    /// Agents of one type that may run at once.
    #[serde(default, alias = "per_type")]
    pub per_type: BTreeMap<String, NonZeroU32>,
    /// How often an agent on autopilot is told to go on.
    pub continues: Option<u32>,
    /// Most turns that it takes for one objective, where `max-turns` says nothing.
    #[serde(alias = "autopilot_turns")]
    pub autopilot_turns: Option<u32>,
    /// Milliseconds that the results of background agents wait for each other.
    #[serde(alias = "result_window_ms")]
    pub result_window_ms: Option<u64>,
    /// Seconds that a task which is asked to stop may take for its last turn.
    #[serde(alias = "grace_secs")]
    pub grace_secs: Option<u64>,
    /// Seconds of silence after which a task is called stalled.
    #[serde(alias = "stall_secs")]
    pub stall_secs: Option<NonZeroU64>,
    /// Seconds of silence after which a task is given up.
    #[serde(alias = "abort_secs")]
    pub abort_secs: Option<NonZeroU64>,
    /// Megabytes of memory that each process of a command may take.
    #[serde(alias = "command_memory_mb")]
    pub command_memory_mb: Option<NonZeroU64>,
}

/// Where agents come from, and which models they get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AgentSettings {
    /// The address of a remote catalogue.
    pub catalog: Option<String>,
    /// The variable with the token that the catalogue knows the user by.
    #[serde(alias = "catalog_token_env")]
    pub catalog_token_env: Option<String>,
    /// The model of agents that like a small one.
    #[serde(alias = "small_model")]
    pub small_model: Option<String>,
    /// The model of agents that like one of another family.
    #[serde(alias = "other_model")]
    pub other_model: Option<String>,
    /// How many times more expensive than the session's an agent's model may be.
    #[serde(alias = "cost_factor")]
    pub cost_factor: Option<f64>,
    /// What becomes of agents whose model is more expensive.
    #[serde(alias = "expensive_model")]
    pub expensive_model: Option<ExpensiveModelSetting>,
    /// Whether agents may have a model whose price is not known.
    #[serde(alias = "allow_unpriced")]
    pub allow_unpriced: Option<bool>,
    /// Characters that the descriptions of all agents should not exceed.
    #[serde(alias = "description_limit")]
    pub description_limit: Option<usize>,
}

/// What becomes of an agent whose model is too expensive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpensiveModelSetting {
    /// It is not started.
    #[default]
    Refuse,
    /// It is run with the session's model, and everybody can see that.
    Downgrade,
}

/// What is switched on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FeatureSettings {
    /// Agents rest when they are done, and a message wakes them.
    #[serde(alias = "multi_turn")]
    pub multi_turn: Option<bool>,
    /// Tasks of MCP servers.
    #[serde(alias = "mcp_tasks")]
    pub mcp_tasks: Option<bool>,
    /// An agent that goes over past work on its own.
    pub subconscious: Option<bool>,
    /// A root that only delegates.
    pub coordinator: Option<bool>,
    /// Agents that begin work on their own.
    pub proactive: Option<bool>,
    /// Words that ask models to work in parallel.
    #[serde(alias = "parallelism_prompts")]
    pub parallelism_prompts: Option<bool>,
    /// What a person may want to say next.
    #[serde(alias = "prompt_suggestions")]
    pub prompt_suggestions: Option<bool>,
}

/// How long things are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RetentionSettings {
    /// Days after its last event that `bosun gc` keeps a session.
    pub days: Option<u32>,
    /// Days that `bosun gc` leaves a checkout in the trash.
    pub trash_days: Option<u32>,
}

/// Which list agents share.
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
    /// Bytes of one background command's output that are kept on disk.
    #[serde(alias = "command_bytes")]
    pub command_bytes: Option<u64>,
    /// Bytes of all background commands of a session together.
    #[serde(alias = "session_bytes")]
    pub session_bytes: Option<u64>,
    /// Bytes that stay free on the disk: below that, output is no longer kept.
    #[serde(alias = "min_free_bytes")]
    pub min_free_bytes: Option<u64>,
}

/// What tool calls may do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PermissionSettings {
    /// What becomes of calls that no rule speaks of.
    pub mode: Option<PermissionModeSetting>,
    /// Calls that may run.
    #[serde(default)]
    pub allow: Vec<RuleLine>,
    /// Calls that a person is asked about.
    #[serde(default)]
    pub ask: Vec<RuleLine>,
    /// Calls that may not run.
    #[serde(default)]
    pub deny: Vec<RuleLine>,
}

/// Where tool calls may do something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkspaceSettings {
    /// More folders that file tools may reach.
    #[serde(default, alias = "add_dirs")]
    pub add_dirs: Vec<PathBuf>,
}

/// What started programs get of the environment. Variables that hold keys are hidden in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnvironmentSettings {
    /// Variables that they do not get, and whose values are never written.
    #[serde(default)]
    pub hide: Vec<VariablePattern>,
    /// Variables that they get although they would be hidden.
    #[serde(default)]
    pub pass: Vec<VariablePattern>,
    /// Variables that they get with these values, whatever the environment says.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// What whoever manages the machine forbids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ManagedRestrictions {
    /// What nobody may use.
    #[serde(default)]
    pub forbid: Vec<ForbiddableFeature>,
}

/// What can be forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForbiddableFeature {
    /// The mode that allows everything.
    AllowAll,
    /// Programs that run when something happens in a session.
    Hooks,
    /// Commands that run while a skill is read.
    SkillShell,
    /// Tools of other servers.
    Mcp,
}
