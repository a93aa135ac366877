//! The settings of a session. This crate knows no configuration file, flag or environment variable.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::{Clock, Home, Ids, SystemClock, TimeIds};
use model::Model;
use net::{NetworkRoute, Secret};
use policy::Policy;
use protocol::{
    AgentSpec, Budget, ListName, PlanAction, ReasoningEffort, RuleText, SessionId, SessionMode, SettingsFileScope,
};
use store::{NoWriterProbe, WriterProbe};

use crate::{
    Catalog, ClientExtensions, CostGuard, FleetRunner, ModelResolver, SessionModelOnly, SkillSource, SpoolLimits,
    Spools, SystemDisk, WatchdogSettings,
};

/// The settings of a session.
#[derive(Clone)]
pub struct SessionSettings {
    /// The folder in which sessions are stored.
    pub home: Home,
    /// The folder that the session works in.
    pub cwd: PathBuf,
    /// Further folders that file tools may access.
    pub added_folders: Vec<PathBuf>,
    /// What happens to file tools' calls outside those folders.
    pub outside_files: OutsideFiles,
    /// The scopes whose instruction files agents are given.
    pub instruction_scopes: Vec<SettingsFileScope>,
    /// The session's model.
    pub model: Arc<dyn Model>,
    /// The model's name, with which a process that resumes the session finds it again.
    pub model_spec: String,
    /// Further models that agents may use.
    pub models: Arc<dyn ModelResolver>,
    /// The policy for agents whose model is much more expensive.
    pub cost_guard: CostGuard,
    /// The available agents, skills and hooks.
    pub catalog: Arc<Catalog>,
    /// The skills that are switched off, by name.
    pub disabled_skills: BTreeSet<String>,
    /// Finds the skills again; without it, they are fixed.
    pub skill_source: Option<Arc<dyn SkillSource>>,
    /// The definition of the root's agent, if it is not the default one.
    pub main_agent: Option<AgentSpec>,
    /// Runs the fleets of the session; without it, every fleet is refused.
    pub fleet_runner: Option<Arc<dyn FleetRunner>>,
    /// Extensions from the program that drives the session.
    pub client_extensions: ClientExtensions,
    /// Tools of programs outside, such as those of MCP servers.
    pub tool_catalog: Option<Arc<dyn tools::ToolCatalog>>,
    /// The id of a new session; generated when absent.
    pub id: Option<SessionId>,
    /// The enabled features.
    pub features: SessionFeatures,
    /// The permissions of calls: the ceiling of the whole tree.
    pub policy: Policy,
    /// The policy's rules from the command line, so that a process that resumes the session has them again.
    pub rules: Vec<RuleText>,
    /// The session mode to set; unchanged when absent.
    pub mode: Option<SessionMode>,
    /// The action for a plan that the user does not decide on in time.
    pub default_plan_action: PlanAction,
    /// Whether the model may ask the user questions.
    pub ask_user: bool,
    /// How long an ask waits for the user before it is denied; for ever when absent.
    pub ask_wait: Option<Duration>,
    /// After which time a call of an MCP server's tool moves to the background.
    pub call_background_after: Duration,
    /// Limits on agents.
    pub limits: kernel::SessionLimits,
    /// The watchdog's limits.
    pub watchdog: WatchdogSettings,
    /// The name of the list that the session's agents share.
    pub list: ListName,
    /// Maximum number of turns of the root and all tasks below it for one prompt.
    pub max_turns: Option<u32>,
    /// The budget of the root and all tasks below it.
    pub budget: Budget,
    /// The daily budget of all sessions in the home, in millionths of a US dollar.
    pub day_budget: Option<u64>,
    /// How long the session's agents may work in this process.
    pub timeout: Option<Duration>,
    /// The model's reasoning effort; the provider's default when absent.
    pub effort: Option<ReasoningEffort>,
    /// Secrets that must never be written anywhere, such as keys.
    pub secrets: Arc<[Secret]>,
    /// The network route to web pages.
    pub route: NetworkRoute,
    /// Limits on tool calls.
    pub tools: tools::ToolLimits,
    /// Storage for the output of background commands, with its limits.
    pub spools: Arc<Spools>,
    /// The executable to start as the guardian.
    pub guardian: PathBuf,
    /// The complete environment of started programs.
    pub env: Vec<(OsString, OsString)>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The generator of ids.
    pub ids: Arc<dyn Ids>,
    /// Lets tests make the store fail.
    pub probe: Arc<dyn WriterProbe>,
}

impl SessionSettings {
    /// The default of `call_background_after`.
    pub const CALL_BACKGROUND_AFTER: Duration = Duration::from_secs(2 * 60);

    /// Settings without agents, rules, limits or further models, on the machine's clock. Calls that need a decision are
    /// denied at once.
    pub fn minimal(home: Home, cwd: PathBuf, model: Arc<dyn Model>, model_spec: impl Into<String>) -> SessionSettings {
        let output = SpoolLimits { command: 1 << 20, session: 1 << 30, min_free: 0 };
        SessionSettings {
            home,
            cwd,
            added_folders: Vec::new(),
            outside_files: OutsideFiles::Refused,
            instruction_scopes: SettingsFileScope::ALL.to_vec(),
            model,
            model_spec: model_spec.into(),
            models: Arc::new(SessionModelOnly),
            cost_guard: CostGuard::default(),
            catalog: Arc::default(),
            disabled_skills: BTreeSet::new(),
            skill_source: None,
            main_agent: None,
            fleet_runner: None,
            client_extensions: ClientExtensions::default(),
            tool_catalog: None,
            id: None,
            features: SessionFeatures::default(),
            policy: Policy::default(),
            rules: Vec::new(),
            mode: None,
            default_plan_action: PlanAction::ExitOnly,
            ask_user: true,
            ask_wait: Some(Duration::ZERO),
            call_background_after: SessionSettings::CALL_BACKGROUND_AFTER,
            limits: kernel::SessionLimits::default(),
            watchdog: WatchdogSettings::default(),
            list: ListName::Session,
            max_turns: None,
            budget: Budget::default(),
            day_budget: None,
            timeout: None,
            effort: None,
            secrets: Arc::default(),
            route: NetworkRoute::default(),
            tools: tools::ToolLimits::default(),
            spools: Arc::new(Spools::new(output, Arc::new(SystemDisk))),
            guardian: PathBuf::from("/proc/self/exe"),
            env: Vec::new(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            probe: Arc::new(NoWriterProbe),
        }
    }
}

/// What happens to a file tool's call outside the folders of the session. Agents with a checkout of their own never
/// leave it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutsideFiles {
    /// It is refused.
    #[default]
    Refused,
    /// Unless a rule or the mode decides, the user is asked.
    Asked,
}

/// Features that can be enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionFeatures {
    /// Agents become idle when they are done, and a message wakes them with their conversation.
    pub multi_turn: bool,
    /// The root suggests the user's next prompt after each answer.
    pub prompt_suggestions: bool,
    /// A model gives the session a title after its first answer.
    pub session_titles: bool,
    /// The root's prompt tells it to split work that can be done in parallel.
    pub parallelism_prompts: bool,
    /// Shell commands in the text of slash commands and skills run when the user invokes them.
    pub inline_shell: bool,
}

impl Default for SessionFeatures {
    fn default() -> Self {
        SessionFeatures {
            multi_turn: true,
            prompt_suggestions: false,
            session_titles: false,
            parallelism_prompts: false,
            inline_shell: true,
        }
    }
}

impl std::fmt::Debug for SessionSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("cwd", &self.cwd).field("model", &self.model).finish_non_exhaustive()
    }
}
