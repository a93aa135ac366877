//! Layers over each other, and what comes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::time::Duration;

use net::{HttpTimeouts, Secret};
use protocol::{Budget, ListName, PermissionMode, ReasoningEffort};

use crate::Env;
use crate::agents::AgentConfig;
use crate::catalog::loose_name;
use crate::file::{
    AgentSettings, BudgetSettings, EnvironmentSettings, FeatureSettings, LimitSettings, ListSettings, NetworkSettings,
    OutputSettings, PermissionSettings, RetentionSettings, SettingsFile, WorkspaceSettings,
};
use crate::permissions::PermissionModeSetting;
use crate::provider::{self, ModelAccess, ProviderFile, ProviderSources};
use crate::read::ConfigError;
use crate::time::DurationSetting;

/// Days after its last event that a session is kept.
const RETENTION_DAYS: u32 = 90;

/// Days that a checkout stays in the trash.
const TRASH_DAYS: u32 = 14;

/// Bytes of one background command's output that are kept.
const COMMAND_BYTES: u64 = 64 << 20;

/// Bytes kept of the output of all background commands of a session.
const SESSION_BYTES: u64 = 1 << 30;

/// Bytes of the disk that output leaves free.
const MIN_FREE_BYTES: u64 = 256 << 20;
/// Seconds of silence after which a task is called stalled.
const STALL_SECS: u64 = 5 * 60;

/// Seconds of silence after which a task is given up.
const ABORT_SECS: u64 = 30 * 60;

/// Settings as they are used: all present.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The model to ask, if any layer names one.
    pub model: Option<String>,
    /// How hard the model should think, if any layer says so.
    pub effort: Option<ReasoningEffort>,
    /// What a session may spend unless it is told otherwise.
    pub budget: Budget,
    /// What all sessions together may spend in a day, in millionths of a US dollar.
    pub day_budget: Option<u64>,
    /// Most turns of one run, if any layer limits them.
    pub max_turns: Option<u32>,
    /// How many agents there may be.
    pub limits: kernel::SessionLimits,
    /// How long a task may be silent before it is called stalled.
    pub stall_after: Duration,
    /// How long a task may be silent before it is given up.
    pub abort_after: Duration,
    /// Where agents come from, and which models they get.
    pub agents: AgentConfig,
    /// Bytes of memory that each process of a command may take.
    pub command_memory: Option<u64>,
    /// Whether agents rest when they are done, until a message wakes them.
    pub multi_turn: bool,
    /// Whether the root guesses what the user may want to say next.
    pub prompt_suggestions: bool,
    /// Whether the root is told to split work.
    pub parallelism_prompts: bool,
    /// Days after its last event that `bosun gc` keeps a session.
    pub retention_days: u32,
    /// Days that a checkout stays in the trash.
    pub trash_days: u32,
    /// Bytes of one background command's output that are kept on disk.
    pub command_bytes: u64,
    /// Bytes of the output of all background commands of a session.
    pub session_bytes: u64,
    /// Bytes of the disk that output leaves free.
    pub min_free_bytes: u64,
    /// The list that agents share.
    pub list: ListName,
    /// What becomes of calls that no rule speaks of.
    pub mode: PermissionMode,
    providers: BTreeMap<String, ProviderFile>,
    /// The providers whose address stands above what the environment says.
    pub(crate) pinned_providers: BTreeSet<String>,
    timeouts: HttpTimeouts,
    /// What each layer says of variables, strongest first.
    pub(crate) environment: Vec<EnvironmentSettings>,
}

impl Config {
    /// The way to every model, from here and from the environment.
    pub fn access(&self, env: &Env) -> Result<ModelAccess, ConfigError> {
        provider::open_access(self.sources(), self.timeouts, env).map_err(ConfigError::Environment)
    }

    /// What the environment holds that must not be written anywhere; known even when some provider cannot be asked.
    pub fn secrets(&self, env: &Env) -> Vec<Secret> {
        provider::secrets(self.sources(), env)
    }

    fn sources(&self) -> ProviderSources<'_> {
        ProviderSources {
            file: &self.providers,
            pinned_providers: &self.pinned_providers,
            environment: &self.environment,
            token: self.agents.catalog_token_env.as_deref(),
        }
    }
}

impl SettingsFile {
    /// This layer over a weaker one: of two values the stronger counts, and lists are joined.
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
                // No layer lifts the limit of another.
                day_usd: [budget.day_usd, weaker.budget.day_usd].into_iter().flatten().min_by_key(|usd| usd.0),
            },
            network: NetworkSettings {
                connect_timeout: network.connect_timeout.or(weaker.network.connect_timeout),
                first_byte_timeout: network.first_byte_timeout.or(weaker.network.first_byte_timeout),
                idle_timeout: network.idle_timeout.or(weaker.network.idle_timeout),
            },
            providers: joined(providers, weaker.providers),
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
                allow: both(permissions.allow, weaker.permissions.allow),
                ask: both(permissions.ask, weaker.permissions.ask),
                deny: both(permissions.deny, weaker.permissions.deny),
            },
            workspace: WorkspaceSettings { add_dirs: both(workspace.add_dirs, weaker.workspace.add_dirs) },
            environment: EnvironmentSettings {
                hide: both(environment.hide, weaker.environment.hide),
                pass: both(environment.pass, weaker.environment.pass),
                set: weaker.environment.set.into_iter().chain(environment.set).collect(),
            },
            managed: managed.or(weaker.managed),
        }
    }

    /// The settings, with what no layer says filled in. Folders, what is forbidden, and which layer hides or passes a
    /// variable need the layer they came from: `Layers` has them.
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
            environment,
            managed: _,
        } = self;
        let (usual, patience) = (kernel::SessionLimits::default(), HttpTimeouts::default());
        Config {
            model,
            effort,
            max_turns,
            budget: Budget { tokens: budget.tokens.map(u64::from), micros: budget.usd.map(|usd| usd.0) },
            day_budget: budget.day_usd.map(|usd| usd.0),
            limits: kernel::SessionLimits {
                live: limits.live.unwrap_or(usual.live),
                depth: limits.depth.unwrap_or(usual.depth),
                total: limits.total.unwrap_or(usual.total),
                rate: limits.spawns_per_minute.unwrap_or(usual.rate),
                of_type: limits.per_type.into_iter().map(|(name, most)| (loose_name(&name), most.get())).collect(),
                max_continues: limits.continues.unwrap_or(usual.max_continues),
                autopilot_turns: limits.autopilot_turns.unwrap_or(usual.autopilot_turns),
                result_window: limits.result_window_ms.map_or(usual.result_window, Duration::from_millis),
                grace: limits.grace_secs.map_or(usual.grace, Duration::from_secs),
                ..usual
            },
            stall_after: Duration::from_secs(limits.stall_secs.map_or(STALL_SECS, NonZeroU64::get)),
            abort_after: Duration::from_secs(limits.abort_secs.map_or(ABORT_SECS, NonZeroU64::get)),
            command_memory: limits.command_memory_mb.map(|megabytes| megabytes.get().saturating_mul(1 << 20)),
            agents: agents.resolve(),
            multi_turn: features.multi_turn.unwrap_or(true),
            prompt_suggestions: features.prompt_suggestions.unwrap_or(false),
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
                connect: network.connect_timeout.map_or(patience.connect, |time| time.0),
                first_byte: network.first_byte_timeout.map_or(patience.first_byte, |time| time.0),
                idle: network.idle_timeout.map_or(patience.idle, |time| time.0),
            },
            environment: Vec::from_iter((environment != EnvironmentSettings::default()).then_some(environment)),
        }
    }

    /// What holds where no layer says anything, for showing.
    pub(crate) fn built_in() -> SettingsFile {
        let (usual, patience) = (kernel::SessionLimits::default(), HttpTimeouts::default());
        SettingsFile {
            network: NetworkSettings {
                connect_timeout: Some(DurationSetting(patience.connect)),
                first_byte_timeout: Some(DurationSetting(patience.first_byte)),
                idle_timeout: Some(DurationSetting(patience.idle)),
            },
            limits: LimitSettings {
                live: Some(usual.live),
                depth: Some(usual.depth),
                total: Some(usual.total),
                spawns_per_minute: Some(usual.rate),
                continues: Some(usual.max_continues),
                autopilot_turns: Some(usual.autopilot_turns),
                result_window_ms: u64::try_from(usual.result_window.as_millis()).ok(),
                grace_secs: Some(usual.grace.as_secs()),
                stall_secs: NonZeroU64::new(STALL_SECS),
                abort_secs: NonZeroU64::new(ABORT_SECS),
                ..LimitSettings::default()
            },
            agents: AgentSettings::built_in(),
            features: FeatureSettings {
                multi_turn: Some(true),
                prompt_suggestions: Some(false),
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

fn both<T>(mut stronger: Vec<T>, weaker: Vec<T>) -> Vec<T> {
    stronger.extend(weaker);
    stronger
}

fn joined(
    mut stronger: BTreeMap<String, ProviderFile>,
    weaker: BTreeMap<String, ProviderFile>,
) -> BTreeMap<String, ProviderFile> {
    for (name, below) in weaker {
        let above = stronger.remove(&name).unwrap_or_default();
        stronger.insert(name, above.over(below));
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
    fn what_is_shown_as_built_in_is_what_holds() {
        assert_eq!(SettingsFile::built_in().resolve(), SettingsFile::default().resolve());
    }
}
