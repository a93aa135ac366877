//! How a session is to be run.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use config::{BudgetSettings, PermissionModeSetting, RuleLine, SettingsFile, Usd};
use protocol::api::SessionView;
use protocol::{AgentSpec, Budget, PermissionMode, ReasoningEffort, RuleEffect};
use runtime::{ClientExtensions, SessionStart, SystemText};

use crate::{AgentSession, Bosun, Error, FunctionTool};

/// How a session is to be run. What is not said is as the user's settings have it, or as it was before.
#[derive(Debug)]
#[must_use = "nothing happens before `open`"]
pub struct SessionBuilder {
    pub(crate) bosun: Bosun,
    pub(crate) start: SessionStart,
    /// What the session was run with before, if it goes on.
    pub(crate) previous: Option<(SessionView, SettingsFile)>,
    pub(crate) overrides: SettingsFile,
    pub(crate) rules: Vec<(RuleEffect, String)>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) agents: Vec<AgentSpec>,
    pub(crate) client_extensions: ClientExtensions,
    pub(crate) guardian: PathBuf,
    pub(crate) ask_policy: AskPolicy,
}

/// What becomes of a call that somebody must decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskPolicy {
    /// Nobody is there: it is denied.
    Deny,
    /// It waits for [`Session::decide`].
    Wait,
}

impl SessionBuilder {
    pub(crate) fn new(
        bosun: Bosun,
        start: SessionStart,
        before: Option<(SessionView, SettingsFile)>,
    ) -> SessionBuilder {
        SessionBuilder {
            bosun,
            start,
            previous: before,
            overrides: SettingsFile::default(),
            rules: Vec::new(),
            cwd: None,
            agents: Vec::new(),
            client_extensions: ClientExtensions::default(),
            // Looked for where programs are; one that is not there is told of when a command is to run.
            guardian: "bosun".into(),
            ask_policy: AskPolicy::Deny,
        }
    }

    /// Asks this model, such as `anthropic/claude-sonnet-5-5`, or `script/FILE` for a scripted one.
    pub fn model(mut self, model: impl Into<String>) -> SessionBuilder {
        self.overrides.model = Some(model.into());
        self
    }

    /// Has the model think so hard.
    pub fn effort(mut self, effort: ReasoningEffort) -> SessionBuilder {
        self.overrides.effort = Some(effort);
        self
    }

    /// Works in this folder; in the program's own when nothing is said.
    pub fn cwd(self, folder: impl Into<PathBuf>) -> SessionBuilder {
        SessionBuilder { cwd: Some(folder.into()), ..self }
    }

    /// Treats calls that no rule speaks of like this.
    pub fn permission(mut self, mode: PermissionMode) -> SessionBuilder {
        self.overrides.permissions.mode = Some(PermissionModeSetting(mode));
        self
    }

    /// Lets calls run that a rule matches, such as `shell(git *)`, `edit(src/**)` or the name of a tool.
    pub fn allow(self, rule: impl Into<String>) -> SessionBuilder {
        self.rule(RuleEffect::Allow, rule.into())
    }

    /// Has somebody asked about calls that a rule matches.
    pub fn ask(self, rule: impl Into<String>) -> SessionBuilder {
        self.rule(RuleEffect::Ask, rule.into())
    }

    /// Denies calls that a rule matches, at every depth and in every mode.
    pub fn deny(self, rule: impl Into<String>) -> SessionBuilder {
        self.rule(RuleEffect::Deny, rule.into())
    }

    /// Lets the session and everything below it spend this much.
    pub fn budget(mut self, budget: Budget) -> SessionBuilder {
        let Budget { tokens, micros } = budget;
        self.overrides.budget =
            BudgetSettings { usd: micros.map(Usd), tokens: tokens.and_then(NonZeroU64::new), day_usd: None };
        self
    }

    /// Lets one activation of the session's own agent take so many turns.
    pub fn max_turns(mut self, turns: u32) -> SessionBuilder {
        self.overrides.max_turns = Some(turns);
        self
    }

    /// Adds an agent to those that may be started.
    pub fn agent(mut self, agent: AgentSpec) -> SessionBuilder {
        self.agents.push(agent);
        self
    }

    /// Adds a tool that the program runs. It is asked about like any other: [`Builder::allow`] with its name lets it
    /// run. One of a name that Bosun has takes its place.
    pub fn tool(mut self, tool: FunctionTool) -> SessionBuilder {
        self.client_extensions.tools.push(Arc::new(tool));
        self
    }

    /// Tells the session's own agent these words after ours.
    pub fn instructions(mut self, words: impl Into<String>) -> SessionBuilder {
        self.client_extensions.system = SystemText::Appended(words.into());
        self
    }

    /// Lets calls that somebody must decide on wait for [`Session::decide`], for as long as that takes. Otherwise they
    /// are denied at once.
    pub fn wait_for_decisions(self) -> SessionBuilder {
        SessionBuilder { ask_policy: AskPolicy::Wait, ..self }
    }

    /// Starts commands through this `bosun` executable; through the one that is found in `PATH` when nothing is said.
    pub fn guardian(self, executable: impl Into<PathBuf>) -> SessionBuilder {
        SessionBuilder { guardian: executable.into(), ..self }
    }

    /// Starts commands through this program, whose `main` begins with [`guard`](crate::guard).
    pub fn guarded_by_this_program(self) -> SessionBuilder {
        // Not the file's path: that may hold another version by the time the guardian starts.
        self.guardian("/proc/self/exe")
    }

    /// Opens the session. What was interrupted in it goes on.
    pub async fn open(self) -> Result<AgentSession, Error> {
        let start = self.start;
        let session = runtime::Session::open(self.settings()?, start).await?;
        match start {
            SessionStart::Resume(_) => session.resume().await?,
            SessionStart::New | SessionStart::Fork(_) => {}
        }
        Ok(AgentSession::new(session))
    }

    fn rule(mut self, effect: RuleEffect, rule: String) -> SessionBuilder {
        self.rules.push((effect, rule));
        self
    }

    /// What was said here, as a layer of settings.
    pub(crate) fn file(&self) -> Result<SettingsFile, Error> {
        let mut file = self.overrides.clone();
        for (effect, rule) in &self.rules {
            let rule = RuleLine::parse(rule)?;
            match effect {
                RuleEffect::Allow => file.permissions.allow.push(rule),
                RuleEffect::Ask => file.permissions.ask.push(rule),
                RuleEffect::Deny => file.permissions.deny.push(rule),
            }
        }
        Ok(file)
    }
}
