//! Merges layers of settings and fills in defaults.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::time::Duration;

use net::{HttpTimeouts, Secret};
use protocol::{Budget, ListName, PermissionMode, ReasoningEffort};
use runtime::SessionSettings;

use crate::Env;
use crate::agents::AgentConfig;
use crate::catalog::loose_name;
use crate::file::{
    AgentSettings, BudgetSettings, EnvironmentSettings, FeatureSettings, LimitSettings, ListSettings, McpSettings,
    NetworkSettings, OutputSettings, PermissionSettings, RetentionSettings, SettingsFile, WorkspaceSettings,
};
use crate::permissions::PermissionModeSetting;
use crate::provider::{self, ModelAccess, ProviderFile, ProviderSources};
use crate::read::ConfigError;
use crate::time::DurationSetting;

/// Days that a session is kept after its last event.
const RETENTION_DAYS: u32 = 90;

/// Days that a checkout stays in the trash.
const TRASH_DAYS: u32 = 14;

/// Bytes of output kept of one background command.
const COMMAND_BYTES: u64 = 64 << 20;

/// Bytes of output kept of all background commands of a session.
const SESSION_BYTES: u64 = 1 << 30;

/// Disk space that output must leave free, in bytes.
const MIN_FREE_BYTES: u64 = 256 << 20;
/// Seconds of silence after which a task counts as stalled.
const STALL_SECS: u64 = 5 * 60;

/// Seconds of silence after which a task is aborted.
const ABORT_SECS: u64 = 30 * 60;

/// Resolved settings, with every value present.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model to use, if any layer names one.
    pub model: Option<String>,
    /// The model's reasoning effort, if any layer sets it.
    pub effort: Option<ReasoningEffort>,
    /// The default budget of a session.
    pub budget: Budget,
    /// The daily budget of all sessions together, in millionths of a US dollar.
    pub day_budget: Option<u64>,
    /// Maximum turns of one run, if any layer limits them.
    pub max_turns: Option<u32>,
    /// Limits on the number of agents.
    pub limits: kernel::SessionLimits,
    /// How long a task may be silent before it counts as stalled.
    pub stall_after: Duration,
    /// How long a task may be silent before it is aborted.
    pub abort_after: Duration,
    /// After which time a call of an MCP server's tool moves to the background.
    pub call_background_after: Duration,
    /// Whether MCP servers may do calls as tasks of their own.
    pub mcp_tasks: bool,
    /// Where agents come from, and which models they get.
    pub agents: AgentConfig,
    /// Memory limit of each process of a command, in bytes.
    pub command_memory: Option<u64>,
    /// Whether agents stay idle when done, so that a message can wake them.
    pub multi_turn: bool,
    /// Whether the root suggests the user's next prompt.
    pub prompt_suggestions: bool,
    /// Whether a model gives sessions their titles.
    pub session_titles: bool,
    /// Whether prompts ask the root to work in parallel.
    pub parallelism_prompts: bool,
    /// Days that `bosun gc` keeps a session after its last event.
    pub retention_days: u32,
    /// Days that a checkout stays in the trash.
    pub trash_days: u32,
    /// Bytes of output kept on disk of one background command.
    pub command_bytes: u64,
    /// Bytes of output kept on disk of all background commands of a session.
    pub session_bytes: u64,
    /// Disk space that output must leave free, in bytes.
    pub min_free_bytes: u64,
    /// The shared list that agents use.
    pub list: ListName,
    /// The permission mode, which decides calls that no rule matches.
    pub mode: PermissionMode,
    providers: BTreeMap<String, ProviderFile>,
    /// The providers whose address overrides the environment.
    pub(crate) pinned_providers: BTreeSet<String>,
    timeouts: HttpTimeouts,
    /// Each layer's environment settings, strongest first.
    pub(crate) environment: Vec<EnvironmentSettings>,
}

impl Config {
    /// Access to every model, from these settings and the environment.
    pub fn access(&self, env: &Env) -> Result<ModelAccess, ConfigError> {
        provider::open_access(self.sources(), self.timeouts, env).map_err(ConfigError::Environment)
    }

    /// Secrets in the environment, which must never be written. Available even if a provider is misconfigured.
    pub fn secrets(&self, env: &Env) -> Vec<Secret> {
        provider::secrets(self.sources(), env)
    }

    fn sources(&self) -> ProviderSources<'_> {
        ProviderSources {
            file: &self.providers,
            pinned_providers: &self.pinned_providers,
            environment: &self.environment,
            token_variable: self.agents.catalog_token_env.as_deref(),
        }
    }
}

impl SettingsFile {
    /// Merges this layer over a weaker one: the stronger value wins, and lists are joined.
    pub fn over(self, weaker: SettingsFile) -> SettingsFile {
        let SettingsFile {
            model,
            effort,
            max_turns,
            budget,
            network,
            providers,
            limits,
            agents,
            features,
            retention,
            output,
            lists,
            permissions,
            workspace,
            mcp,
            environment,
            managed,
        } = self;
        SettingsFile {
            model: model.or(weaker.model),
            effort: effort.or(weaker.effort),
            max_turns: max_turns.or(weaker.max_turns),
            budget: BudgetSettings {
                usd: budget.usd.or(weaker.budget.usd),
                tokens: budget.tokens.or(weaker.budget.tokens),
                // No layer can raise the limit of another.
                day_usd: [budget.day_usd, weaker.budget.day_usd].into_iter().flatten().min_by_key(|usd| usd.0),
            },
            network: NetworkSettings {
                connect_timeout: network.connect_timeout.or(weaker.network.connect_timeout),
                first_byte_timeout: network.first_byte_timeout.or(weaker.network.first_byte_timeout),
                idle_timeout: network.idle_timeout.or(weaker.network.idle_timeout),
            },
            providers: merge_providers(providers, weaker.providers),
            limits: LimitSettings {
                live: limits.live.or(weaker.limits.live),
                depth: limits.depth.or(weaker.limits.depth),
                total: limits.total.or(weaker.limits.total),
                spawns_per_minute: limits.spawns_per_minute.or(weaker.limits.spawns_per_minute),
                per_type: weaker.limits.per_type.into_iter().chain(limits.per_type).collect(),
                continues: limits.continues.or(weaker.limits.continues),
                autopilot_turns: limits.autopilot_turns.or(weaker.limits.autopilot_turns),
                result_window_ms: limits.result_window_ms.or(weaker.limits.result_window_ms),
                grace_secs: limits.grace_secs.or(weaker.limits.grace_secs),
                stall_secs: limits.stall_secs.or(weaker.limits.stall_secs),
                abort_secs: limits.abort_secs.or(weaker.limits.abort_secs),
                mcp_background_secs: limits.mcp_background_secs.or(weaker.limits.mcp_background_secs),
                command_memory_mb: limits.command_memory_mb.or(weaker.limits.command_memory_mb),
            },
            agents: agents.over(weaker.agents),
            features: features.over(weaker.features),
            retention: RetentionSettings {
                days: retention.days.or(weaker.retention.days),
                trash_days: retention.trash_days.or(weaker.retention.trash_days),
            },
            output: OutputSettings {
                command_bytes: output.command_bytes.or(weaker.output.command_bytes),
                session_bytes: output.session_bytes.or(weaker.output.session_bytes),
                min_free_bytes: output.min_free_bytes.or(weaker.output.min_free_bytes),
            },
            lists: ListSettings { chosen: lists.chosen.or(weaker.lists.chosen) },
            permissions: PermissionSettings {
                mode: permissions.mode.or(weaker.permissions.mode),
                allow: concatenated(permissions.allow, weaker.permissions.allow),
                ask: concatenated(permissions.ask, weaker.permissions.ask),
                deny: concatenated(permissions.deny, weaker.permissions.deny),
            },
            workspace: WorkspaceSettings { add_dirs: concatenated(workspace.add_dirs, weaker.workspace.add_dirs) },
            environment: EnvironmentSettings {
                hide: concatenated(environment.hide, weaker.environment.hide),
                pass: concatenated(environment.pass, weaker.environment.pass),
                set: weaker.environment.set.into_iter().chain(environment.set).collect(),
            },
            mcp: McpSettings { servers: weaker.mcp.servers.into_iter().chain(mcp.servers).collect() },
            managed: managed.or(weaker.managed),
        }
    }

    /// Resolves the settings, filling in defaults. Folders, MCP servers, restrictions, and hidden or passed variables depend on
    /// their layer: see `SettingsLayers`.
    pub fn resolve(self) -> Config {
        let SettingsFile {
            model,
            effort,
            max_turns,
            budget,
            network,
            providers,
            limits,
            agents,
            features,
            retention,
            output,
            lists,
            permissions,
            workspace: _,
            mcp: _,
            environment,
            managed: _,
        } = self;
        let (defaults, timeouts) = (kernel::SessionLimits::default(), HttpTimeouts::default());
        Config {
            model,
            effort,
            max_turns,
            budget: Budget { tokens: budget.tokens.map(u64::from), micros: budget.usd.map(|usd| usd.0) },
            day_budget: budget.day_usd.map(|usd| usd.0),
            limits: kernel::SessionLimits {
                live: limits.live.unwrap_or(defaults.live),
                depth: limits.depth.unwrap_or(defaults.depth),
                total: limits.total.unwrap_or(defaults.total),
                rate: limits.spawns_per_minute.unwrap_or(defaults.rate),
                max_by_type: limits.per_type.into_iter().map(|(name, most)| (loose_name(&name), most.get())).collect(),
                max_continues: limits.continues.unwrap_or(defaults.max_continues),
                max_autopilot_turns: limits.autopilot_turns.unwrap_or(defaults.max_autopilot_turns),
                result_window: limits.result_window_ms.map_or(defaults.result_window, Duration::from_millis),
                grace: limits.grace_secs.map_or(defaults.grace, Duration::from_secs),
                ..defaults
            },
            stall_after: Duration::from_secs(limits.stall_secs.map_or(STALL_SECS, NonZeroU64::get)),
            abort_after: Duration::from_secs(limits.abort_secs.map_or(ABORT_SECS, NonZeroU64::get)),
            call_background_after: limits
                .mcp_background_secs
                .map_or(SessionSettings::CALL_BACKGROUND_AFTER, Duration::from_secs),
            mcp_tasks: features.mcp_tasks.unwrap_or(true),
            command_memory: limits.command_memory_mb.map(|megabytes| megabytes.get().saturating_mul(1 << 20)),
            agents: agents.resolve(),
            multi_turn: features.multi_turn.unwrap_or(true),
            prompt_suggestions: features.prompt_suggestions.unwrap_or(false),
            session_titles: features.session_titles.unwrap_or(false),
            parallelism_prompts: features.parallelism_prompts.unwrap_or(false),
            retention_days: retention.days.unwrap_or(RETENTION_DAYS),
            trash_days: retention.trash_days.unwrap_or(TRASH_DAYS),
            command_bytes: output.command_bytes.unwrap_or(COMMAND_BYTES),
            session_bytes: output.session_bytes.unwrap_or(SESSION_BYTES),
            min_free_bytes: output.min_free_bytes.unwrap_or(MIN_FREE_BYTES),
            list: lists.chosen.unwrap_or_default(),
            mode: permissions.mode.map_or(PermissionMode::default(), |mode| mode.0),
            providers,
            pinned_providers: BTreeSet::new(),
            timeouts: HttpTimeouts {
                connect: network.connect_timeout.map_or(timeouts.connect, |time| time.0),
                first_byte: network.first_byte_timeout.map_or(timeouts.first_byte, |time| time.0),
                idle: network.idle_timeout.map_or(timeouts.idle, |time| time.0),
            },
            environment: Vec::from_iter((environment != EnvironmentSettings::default()).then_some(environment)),
        }
    }

    /// The built-in defaults, for display.
    pub(crate) fn built_in() -> SettingsFile {
        let (defaults, timeouts) = (kernel::SessionLimits::default(), HttpTimeouts::default());
        SettingsFile {
            network: NetworkSettings {
                connect_timeout: Some(DurationSetting(timeouts.connect)),
                first_byte_timeout: Some(DurationSetting(timeouts.first_byte)),
                idle_timeout: Some(DurationSetting(timeouts.idle)),
            },
            limits: LimitSettings {
                live: Some(defaults.live),
                depth: Some(defaults.depth),
                total: Some(defaults.total),
                spawns_per_minute: Some(defaults.rate),
                continues: Some(defaults.max_continues),
                autopilot_turns: Some(defaults.max_autopilot_turns),
                result_window_ms: u64::try_from(defaults.result_window.as_millis()).ok(),
                grace_secs: Some(defaults.grace.as_secs()),
                stall_secs: NonZeroU64::new(STALL_SECS),
                abort_secs: NonZeroU64::new(ABORT_SECS),
                mcp_background_secs: Some(SessionSettings::CALL_BACKGROUND_AFTER.as_secs()),
                ..LimitSettings::default()
            },
            agents: AgentSettings::built_in(),
            features: FeatureSettings {
                multi_turn: Some(true),
                mcp_tasks: Some(true),
                prompt_suggestions: Some(false),
                session_titles: Some(false),
                parallelism_prompts: Some(false),
                ..FeatureSettings::default()
            },
            retention: RetentionSettings { days: Some(RETENTION_DAYS), trash_days: Some(TRASH_DAYS) },
            output: OutputSettings {
                command_bytes: Some(COMMAND_BYTES),
                session_bytes: Some(SESSION_BYTES),
                min_free_bytes: Some(MIN_FREE_BYTES),
            },
            lists: ListSettings { chosen: Some(ListName::Session) },
            permissions: PermissionSettings {
                mode: Some(PermissionModeSetting(PermissionMode::default())),
                ..PermissionSettings::default()
            },
            ..SettingsFile::default()
        }
    }
}

fn concatenated<T>(mut stronger: Vec<T>, weaker: Vec<T>) -> Vec<T> {
    stronger.extend(weaker);
    stronger
}

fn merge_providers(
    mut stronger: BTreeMap<String, ProviderFile>,
    weaker: BTreeMap<String, ProviderFile>,
) -> BTreeMap<String, ProviderFile> {
    for (name, weaker_provider) in weaker {
        let stronger_provider = stronger.remove(&name).unwrap_or_default();
        stronger.insert(name, stronger_provider.over(weaker_provider));
    }
    stronger
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse(text: &str) -> SettingsFile {
        SettingsFile::parse(text, Path::new("config.toml")).unwrap()
    }

    #[test]
    fn a_stronger_layer_wins_key_by_key_and_lists_are_joined() {
        let user = parse(
            "model = 'script/a'\nmax-turns = 5\n[limits]\nlive = 8\n[permissions]\nmode = 'plan'\ndeny = ['b']\n",
        );
        let flags = parse("model = 'script/b'\n[permissions]\nmode = 'accept-edits'\ndeny = ['a']\n");
        let file = flags.over(user);
        assert_eq!(file.permissions, parse("[permissions]\nmode = 'accept-edits'\ndeny = ['a', 'b']").permissions);
        let config = file.resolve();
        assert_eq!((config.model.as_deref(), config.mode), (Some("script/b"), PermissionMode::AcceptEdits));
        assert_eq!((config.max_turns, config.limits.live, config.limits.depth), (Some(5), 8, 6));
        assert_eq!((config.retention_days, config.command_bytes), (90, 64 << 20));
    }

    #[test]
    fn displayed_defaults_match_resolved_defaults() {
        assert_eq!(SettingsFile::built_in().resolve(), SettingsFile::default().resolve());
    }
}
