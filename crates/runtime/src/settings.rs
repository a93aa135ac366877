//! What a session needs from its edge. Nothing below names a config file, a flag or the environment.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::{Clock, Home, Ids};
use model::Model;
use net::{NetworkRoute, Secret};
use policy::Policy;
use protocol::{AgentSpec, Budget, ListName, PlanAction, ReasoningEffort, RuleText, SessionId, SessionMode};
use store::WriterProbe;

use crate::{Catalog, ClientExtensions, CostGuard, ModelResolver, Spools, WatchdogSettings};

/// Everything a session is run with.
#[derive(Clone)]
pub struct SessionSettings {
    /// Where sessions are kept.
    pub home: Home,
    /// The folder the session works in.
    pub cwd: PathBuf,
    /// More folders that file tools may reach.
    pub roots: Vec<PathBuf>,
    /// The model that is asked.
    pub model: Arc<dyn Model>,
    /// How it was named, so that a process that goes on with the session finds it again.
    pub model_spec: String,
    /// The models that agents may be run with besides it.
    pub models: Arc<dyn ModelResolver>,
    /// What becomes of agents whose model is much more expensive.
    pub cost_guard: CostGuard,
    /// The agents, skills and hooks there are.
    pub catalog: Arc<Catalog>,
    /// The definition of the session's own agent, if it is not the usual one.
    pub main_agent: Option<AgentSpec>,
    /// What the program that drives the session brings along.
    pub client_extensions: ClientExtensions,
    /// What a new session is called; any new id when absent.
    pub id: Option<SessionId>,
    /// What is switched on.
    pub features: SessionFeatures,
    /// What calls may do: the ceiling of the whole tree.
    pub policy: Policy,
    /// The rules among the policy's that the command line gave, so that a process that goes on with the session has
    /// them again.
    pub rules: Vec<RuleText>,
    /// The mode that it goes on in; as it was when absent.
    pub mode: Option<SessionMode>,
    /// How a plan is gone on with that nobody decides on in time.
    pub plan_exit: PlanAction,
    /// Whether the model may ask the user questions.
    pub ask_user: bool,
    /// How long a person is waited for before an ask is denied; for ever when absent.
    pub ask_wait: Option<Duration>,
    /// How many agents there may be.
    pub limits: kernel::SessionLimits,
    /// When watching over them leads to something.
    pub watchdog: WatchdogSettings,
    /// The list that its agents share.
    pub list: ListName,
    /// Most turns that the root and everything below it may take for one prompt.
    pub max_turns: Option<u32>,
    /// What the root and everything below it may spend.
    pub budget: Budget,
    /// What everybody who shares the home may spend in a day, in millionths of a US dollar.
    pub day_budget: Option<u64>,
    /// How long its agents may work in this process.
    pub timeout: Option<Duration>,
    /// How hard the model should think; as its provider likes when absent.
    pub effort: Option<ReasoningEffort>,
    /// What must never be written anywhere: keys.
    pub secrets: Arc<[Secret]>,
    /// The way to pages of the web.
    pub route: NetworkRoute,
    /// How much a tool call gives and takes.
    pub tools: tools::ToolLimits,
    /// Where the output of background commands is kept, and how much of it.
    pub spools: Arc<Spools>,
    /// The executable that becomes the guardian of started processes.
    pub guardian: PathBuf,
    /// The complete environment of started programs.
    pub env: Vec<(OsString, OsString)>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub ids: Arc<dyn Ids>,
    /// Where tests make the store fail.
    pub probe: Arc<dyn WriterProbe>,
}

/// What is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionFeatures {
    /// Agents rest when they are done, and a message wakes them with all they knew.
    pub multi_turn: bool,
    /// The root guesses after each answer what the user may want to say next.
    pub prompt_suggestions: bool,
    /// The root is told to split work that splits well.
    pub parallelism_prompts: bool,
    /// Commands in the texts of slash commands and skills are run when a person calls them.
    pub inline_shell: bool,
}

impl Default for SessionFeatures {
    fn default() -> Self {
        SessionFeatures { multi_turn: true, prompt_suggestions: false, parallelism_prompts: false, inline_shell: true }
    }
}

impl std::fmt::Debug for SessionSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("cwd", &self.cwd).field("model", &self.model).finish_non_exhaustive()
    }
}
