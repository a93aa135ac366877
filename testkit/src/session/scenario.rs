//! What a test wants to see played.

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

/// A model that knows no answer.
const MUTE: &str = "
version: 1
about: For scenarios without a script
rules:
  - fail: { class: terminal, message: the scenario has no script }
";

/// A scenario with nothing in it: an empty folder, a model that knows no answer, and no permission to write.
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
        extensions: runtime::ClientExtensions::default(),
        prompt: None,
    }
}

/// Which folders file tools may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folders {
    /// The working folder.
    Own,
    /// The home of sessions too.
    Home,
}

/// What a test wants to see played.
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
    pub(super) extensions: runtime::ClientExtensions,
    prompt: Option<String>,
}

impl Scenario {
    /// The model answers by this script.
    #[must_use]
    pub fn script(self, yaml: &str) -> Scenario {
        Scenario { model: script(yaml), ..self }
    }

    /// The model is this one.
    #[must_use]
    pub fn model(self, model: Arc<dyn Model>) -> Scenario {
        Scenario { model, ..self }
    }

    /// A program brings this along.
    #[must_use]
    pub fn extensions(self, extensions: runtime::ClientExtensions) -> Scenario {
        Scenario { extensions, ..self }
    }

    /// A program brings these tools along.
    #[must_use]
    pub fn guest_tools(self, tools: Vec<Arc<dyn tools::Tool>>) -> Scenario {
        self.extensions(runtime::ClientExtensions { tools, ..runtime::ClientExtensions::default() })
    }

    /// The working folder has this file.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Scenario {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Tools may do everything.
    #[must_use]
    pub fn allow_all(self) -> Scenario {
        Scenario { mode: PermissionMode::AllowAll, ..self }
    }

    /// Calls that no rule speaks of are treated like this.
    #[must_use]
    pub fn mode(self, mode: PermissionMode) -> Scenario {
        Scenario { mode, ..self }
    }

    /// The session's own agent goes so far by itself.
    #[must_use]
    pub fn session_mode(self, mode: SessionMode) -> Scenario {
        Scenario { session_mode: Some(mode), ..self }
    }

    /// A plan that nobody decides on goes on like this.
    #[must_use]
    pub fn plan_exit(self, action: PlanAction) -> Scenario {
        Scenario { plan_exit: action, ..self }
    }

    /// This rule holds.
    #[must_use]
    pub fn rule(mut self, effect: RuleEffect, rule: &str) -> Scenario {
        self.rules.push(RuleText { effect, rule: rule.into() });
        self
    }

    /// There is this agent too.
    #[must_use]
    pub fn agent(mut self, agent: AgentSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).agents.insert(0, agent);
        self
    }

    /// There is this skill too.
    #[must_use]
    pub fn skill(mut self, skill: SkillSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).skills.push(skill);
        self
    }

    /// There is this slash command too.
    #[must_use]
    pub fn slash(mut self, slash: SlashSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).slash_commands.push(slash);
        self
    }

    /// The session's own agent is this one.
    #[must_use]
    pub fn main(self, agent: AgentSpec) -> Scenario {
        Scenario { main: Some(agent), ..self }
    }

    /// A new session is called this.
    #[must_use]
    pub fn id(self, id: SessionId) -> Scenario {
        Scenario { id: Some(id), ..self }
    }

    /// Agents may be run with these models too.
    #[must_use]
    pub fn models(self, models: Arc<dyn ModelResolver>) -> Scenario {
        Scenario { models, ..self }
    }

    /// All sessions of its home together may spend so many millionths of a US dollar in a day.
    #[must_use]
    pub fn day_budget(self, micros: u64) -> Scenario {
        Scenario { day_budget: Some(micros), ..self }
    }

    /// What becomes of agents whose model is much more expensive.
    #[must_use]
    pub fn guard(self, guard: CostGuard) -> Scenario {
        Scenario { guard, ..self }
    }

    /// This is switched on.
    #[must_use]
    pub fn features(self, features: SessionFeatures) -> Scenario {
        Scenario { features, ..self }
    }

    /// This hook is told too.
    #[must_use]
    pub fn hook(mut self, hook: HookSpec) -> Scenario {
        Arc::make_mut(&mut self.catalog).hooks.push(hook);
        self
    }

    /// There may be this many agents.
    #[must_use]
    pub fn limits(self, limits: kernel::SessionLimits) -> Scenario {
        Scenario { limits, ..self }
    }

    /// What runs is watched over like this.
    #[must_use]
    pub fn watch(self, watch: runtime::WatchdogSettings) -> Scenario {
        Scenario { watch, ..self }
    }

    /// A person is waited for so long; for ever with nothing.
    #[must_use]
    pub fn ask_wait(self, wait: Option<Duration>) -> Scenario {
        Scenario { ask_wait: wait, ..self }
    }

    /// The model may not ask the user.
    #[must_use]
    pub fn no_ask_user(self) -> Scenario {
        Scenario { ask_user: false, ..self }
    }

    /// Its agents share this list.
    #[must_use]
    pub fn list(self, list: ListName) -> Scenario {
        Scenario { list, ..self }
    }

    /// An activation may take this many turns.
    #[must_use]
    pub fn max_turns(self, turns: u32) -> Scenario {
        Scenario { max_turns: Some(turns), ..self }
    }

    /// The session may spend this much.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Scenario {
        Scenario { budget, ..self }
    }

    /// The root may work for so long.
    #[must_use]
    pub fn timeout(self, time: Duration) -> Scenario {
        Scenario { timeout: Some(time), ..self }
    }

    /// This must not be written anywhere.
    #[must_use]
    pub fn secret(self, secret: &str) -> Scenario {
        Scenario { secrets: [Secret::new(secret)].into(), ..self }
    }

    /// A call gives and takes this much.
    #[must_use]
    pub fn tools(self, limits: tools::ToolLimits) -> Scenario {
        Scenario { tools: limits, ..self }
    }

    /// The output of a background command takes this much of the disk.
    #[must_use]
    pub fn spool(self, bytes: u64) -> Scenario {
        Scenario { spools: SpoolLimits { command: bytes, ..self.spools }, ..self }
    }

    /// This disk has room, and so much of it is to stay free.
    #[must_use]
    pub fn disk(self, disk: Arc<dyn Disk>, min_free: u64) -> Scenario {
        Scenario { spools: SpoolLimits { min_free, ..self.spools }, disk, ..self }
    }

    /// Programs are started through this executable instead of the one that was built.
    #[must_use]
    pub fn guardian(self, executable: PathBuf) -> Scenario {
        Scenario { guardian: Some(executable), ..self }
    }

    /// File tools may reach the home of sessions, as far as their folders go.
    #[must_use]
    pub fn home_added(self) -> Scenario {
        Scenario { reach: Folders::Home, ..self }
    }

    /// The session is given these words first.
    #[must_use]
    pub fn prompt(self, text: &str) -> Scenario {
        Scenario { prompt: Some(text.into()), ..self }
    }

    /// Sets the stage and opens nothing yet.
    pub fn ready(self) -> SessionFixture {
        SessionFixture::set(self)
    }

    /// Plays the scenario until the session is at rest, and leaves it.
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

/// A worker that may start others, and a reader that may not.
fn subagents() -> Catalog {
    let agent = |name: &str, description: &str| AgentSpec {
        name: name.into(),
        description: description.into(),
        model_invocable: true,
        user_invocable: true,
        ..AgentSpec::default()
    };
    let worker = AgentSpec { spawns: SpawnPolicy::Anybody, ..agent("worker", "does anything") };
    let tools = ["view", "grep", "glob"].map(String::from).to_vec();
    let reader = AgentSpec { tools: Some(tools), ..agent("reader", "looks only") };
    Catalog { agents: vec![worker, reader], ..Catalog::default() }
}

fn script(yaml: &str) -> Arc<dyn Model> {
    let script = ScriptModel::parse(yaml, "test.yaml").unwrap_or_else(|error| panic!("{error}"));
    Arc::new(script)
}
