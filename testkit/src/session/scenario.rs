//! Scenarios of tests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::{Model, ScriptModel};
use net::Secret;
use protocol::{
    AgentSpec, Budget, HookSpec, ListName, MailDelivery, PermissionMode, PlanAction, RuleEffect, RuleText, SessionId,
    SessionMode, SkillSpec, SlashSpec, SpawnPolicy,
};
use runtime::{Catalog, CostGuard, Disk, ModelResolver, SessionFeatures, SessionModelOnly, SessionStart, SpoolLimits};

use super::{PlayedSession, SessionFixture};

/// A model without answers.
const MUTE: &str = "
version: 1
about: For scenarios without a script
rules:
  - fail: { class: terminal, message: the scenario has no script }
";

/// A script of these rules.
pub fn rules(rules: &str) -> String {
    format!("version: 1\nabout: For a test\nrules:\n{rules}")
}

/// An empty scenario: an empty folder, a model without answers, and no permission to write.
pub fn scenario() -> Scenario {
    Scenario {
        model: script(MUTE),
        files: Vec::new(),
        mode: PermissionMode::Default,
        rules: Vec::new(),
        catalog: Arc::new(subagents()),
        main: None,
        id: None,
        models: Arc::new(SessionModelOnly),
        guard: CostGuard::default(),
        features: SessionFeatures::default(),
        limits: kernel::SessionLimits::default(),
        watch: runtime::WatchdogSettings::default(),
        session_mode: None,
        plan_exit: PlanAction::ExitOnly,
        ask_user: true,
        ask_wait: Some(Duration::ZERO),
        background_after: runtime::SessionSettings::CALL_BACKGROUND_AFTER,
        list: ListName::Session,
        max_turns: None,
        budget: Budget::default(),
        day_budget: None,
        timeout: None,
        secrets: Arc::default(),
        tools: tools::ToolLimits::default(),
        spools: SpoolLimits { command: 1 << 20, session: 1 << 30, min_free: 0 },
        disk: Arc::new(runtime::SystemDisk),
        guardian: None,
        reach: Folders::Own,
        outside_files: runtime::OutsideFiles::Refused,
        extensions: runtime::ClientExtensions::default(),
        tool_catalog: None,
        prompt: None,
    }
}

/// Which folders file tools may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    /// The working folder.
    Own,
    /// Also the home of sessions.
    Home,
}

/// A scenario of a test.
#[derive(Debug)]
pub struct Scenario {
    pub(super) model: Arc<dyn Model>,
    pub(super) files: Vec<(String, String)>,
    pub(super) mode: PermissionMode,
    pub(super) rules: Vec<RuleText>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) main: Option<AgentSpec>,
    pub(super) id: Option<SessionId>,
    pub(super) models: Arc<dyn ModelResolver>,
    pub(super) guard: CostGuard,
    pub(super) features: SessionFeatures,
    pub(super) limits: kernel::SessionLimits,
    pub(super) watch: runtime::WatchdogSettings,
    pub(super) session_mode: Option<SessionMode>,
    pub(super) plan_exit: PlanAction,
    pub(super) ask_user: bool,
    pub(super) ask_wait: Option<Duration>,
    pub(super) background_after: Duration,
    pub(super) list: ListName,
    pub(super) max_turns: Option<u32>,
    pub(super) budget: Budget,
    pub(super) day_budget: Option<u64>,
    pub(super) timeout: Option<Duration>,
    pub(super) secrets: Arc<[Secret]>,
    pub(super) tools: tools::ToolLimits,
    pub(super) spools: SpoolLimits,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) guardian: Option<PathBuf>,
    pub(super) reach: Folders,
    pub(super) outside_files: runtime::OutsideFiles,
    pub(super) extensions: runtime::ClientExtensions,
    pub(super) tool_catalog: Option<Arc<dyn tools::ToolCatalog>>,
    prompt: Option<String>,
}

impl Scenario {
    /// Sets the script of the model.
    #[must_use]
    pub fn script(self, yaml: &str) -> Scenario {
        Scenario { model: script(yaml), ..self }
    }

    /// Sets the model.
    #[must_use]
    pub fn model(self, model: Arc<dyn Model>) -> Scenario {
        Scenario { model, ..self }
    }

    /// Sets the client's extensions.
    #[must_use]
    pub fn extensions(self, extensions: runtime::ClientExtensions) -> Scenario {
        Scenario { extensions, ..self }
    }

    /// Sets the client's tools.
    #[must_use]
    pub fn guest_tools(self, tools: Vec<Arc<dyn tools::Tool>>) -> Scenario {
        self.extensions(runtime::ClientExtensions { tools, ..runtime::ClientExtensions::default() })
    }

    /// Sets the tools of programs outside.
    #[must_use]
    pub fn tool_catalog(self, catalog: Arc<dyn tools::ToolCatalog>) -> Scenario {
        Scenario { tool_catalog: Some(catalog), ..self }
    }

    /// Sets after which time a call of an MCP server's tool moves to the background.
    #[must_use]
    pub fn background_after(self, background_after: Duration) -> Scenario {
        Scenario { background_after, ..self }
    }

    /// Adds a file to the working folder.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Scenario {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Allows all tool calls.
    #[must_use]
    pub fn allow_all(self) -> Scenario {
        Scenario { mode: PermissionMode::AllowAll, ..self }
    }

    /// Sets the permission mode.
    #[must_use]
    pub fn mode(self, mode: PermissionMode) -> Scenario {
        Scenario { mode, ..self }
    }

    /// Sets the session mode.
    #[must_use]
    pub fn session_mode(self, mode: SessionMode) -> Scenario {
        Scenario { session_mode: Some(mode), ..self }
    }

    /// Sets the action for a plan without a decision.
    #[must_use]
    pub fn plan_exit(self, action: PlanAction) -> Scenario {
        Scenario { plan_exit: action, ..self }
    }

    /// Adds a permission rule.
    #[must_use]
    pub fn rule(mut self, effect: RuleEffect, rule: &str) -> Scenario {
        self.rules.push(RuleText { effect, rule: rule.into() });
        self
    }

    /// Adds an agent.
    #[must_use]
    pub fn agent(mut self, agent: AgentSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).agents.insert(0, agent);
        self
    }

    /// Adds a skill.
    #[must_use]
    pub fn skill(mut self, skill: SkillSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).skills.push(skill);
        self
    }

    /// Adds a slash command.
    #[must_use]
    pub fn slash(mut self, slash: SlashSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).slash_commands.push(slash);
        self
    }

    /// Sets the main agent.
    #[must_use]
    pub fn main(self, agent: AgentSpec) -> Scenario {
        Scenario { main: Some(agent), ..self }
    }

    /// Sets the id of a new session.
    #[must_use]
    pub fn id(self, id: SessionId) -> Scenario {
        Scenario { id: Some(id), ..self }
    }

    /// Sets the models for agents.
    #[must_use]
    pub fn models(self, models: Arc<dyn ModelResolver>) -> Scenario {
        Scenario { models, ..self }
    }

    /// Sets the daily budget of all sessions of its home, in millionths of a US dollar.
    #[must_use]
    pub fn day_budget(self, micros: u64) -> Scenario {
        Scenario { day_budget: Some(micros), ..self }
    }

    /// Sets the policy for agents whose model is much more expensive.
    #[must_use]
    pub fn guard(self, guard: CostGuard) -> Scenario {
        Scenario { guard, ..self }
    }

    /// Sets the enabled features.
    #[must_use]
    pub fn features(self, features: SessionFeatures) -> Scenario {
        Scenario { features, ..self }
    }

    /// Adds a hook.
    #[must_use]
    pub fn hook(mut self, hook: HookSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).hooks.push(hook);
        self
    }

    /// Sets the limits on agents.
    #[must_use]
    pub fn limits(self, limits: kernel::SessionLimits) -> Scenario {
        Scenario { limits, ..self }
    }

    /// Sets the watchdog.
    #[must_use]
    pub fn watch(self, watch: runtime::WatchdogSettings) -> Scenario {
        Scenario { watch, ..self }
    }

    /// Sets how long to wait for a person; `None` means for ever.
    #[must_use]
    pub fn ask_wait(self, wait: Option<Duration>) -> Scenario {
        Scenario { ask_wait: wait, ..self }
    }

    /// The model may not ask the user.
    #[must_use]
    pub fn no_ask_user(self) -> Scenario {
        Scenario { ask_user: false, ..self }
    }

    /// Sets the shared list.
    #[must_use]
    pub fn list(self, list: ListName) -> Scenario {
        Scenario { list, ..self }
    }

    /// Sets the maximum turns of an activation.
    #[must_use]
    pub fn max_turns(self, turns: u32) -> Scenario {
        Scenario { max_turns: Some(turns), ..self }
    }

    /// Sets the budget of the session.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Scenario {
        Scenario { budget, ..self }
    }

    /// Sets the timeout of the root.
    #[must_use]
    pub fn timeout(self, time: Duration) -> Scenario {
        Scenario { timeout: Some(time), ..self }
    }

    /// Sets a secret that must never be written.
    #[must_use]
    pub fn secret(self, secret: &str) -> Scenario {
        Scenario { secrets: [Secret::new(secret)].into(), ..self }
    }

    /// Sets the limits of tool calls.
    #[must_use]
    pub fn tools(self, limits: tools::ToolLimits) -> Scenario {
        Scenario { tools: limits, ..self }
    }

    /// Limits the output of a background command on disk.
    #[must_use]
    pub fn spool(self, bytes: u64) -> Scenario {
        Scenario { spools: SpoolLimits { command: bytes, ..self.spools }, ..self }
    }

    /// Sets the disk and the space that must stay free.
    #[must_use]
    pub fn disk(self, disk: Arc<dyn Disk>, min_free: u64) -> Scenario {
        Scenario { spools: SpoolLimits { min_free, ..self.spools }, disk, ..self }
    }

    /// Sets the guardian executable, instead of the one that was built.
    #[must_use]
    pub fn guardian(self, executable: PathBuf) -> Scenario {
        Scenario { guardian: Some(executable), ..self }
    }

    /// Adds the home of sessions to the folders that file tools may reach.
    #[must_use]
    pub fn home_added(self) -> Scenario {
        Scenario { reach: Folders::Home, ..self }
    }

    /// Asks about files outside the workspace.
    #[must_use]
    pub fn asks_outside(self) -> Scenario {
        Scenario { outside_files: runtime::OutsideFiles::Asked, ..self }
    }

    /// Sets the first prompt.
    #[must_use]
    pub fn prompt(self, text: &str) -> Scenario {
        Scenario { prompt: Some(text.into()), ..self }
    }

    /// Creates the fixture without opening a session.
    pub fn ready(self) -> SessionFixture {
        SessionFixture::set(self)
    }

    /// Plays the scenario until the session is idle, and leaves it.
    pub async fn run(self) -> PlayedSession {
        let prompt = self.prompt.clone();
        let mut driver = self.ready().open(SessionStart::New).await;
        if let Some(prompt) = prompt {
            driver.send(&prompt, MailDelivery::FollowUp).await;
        }
        driver.rest().await;
        driver.leave().await
    }
}

/// A worker that may start agents, and a reader that may not.
fn subagents() -> Catalog {
    let agent = |name: &str, description: &str| AgentSpec {
        name: name.into(),
        description: description.into(),
        model_invocable: true,
        user_invocable: true,
        ..AgentSpec::default()
    };
    let worker = AgentSpec { spawns: SpawnPolicy::Any, ..agent("worker", "does anything") };
    let tools = ["view", "grep", "glob"].map(String::from).to_vec();
    let reader = AgentSpec { tools: Some(tools), ..agent("reader", "looks only") };
    Catalog { agents: vec![worker, reader], ..Catalog::default() }
}

fn script(yaml: &str) -> Arc<dyn Model> {
    let script = ScriptModel::parse(yaml, "test.yaml").unwrap_or_else(|error| panic!("{error}"));
    Arc::new(script)
}
