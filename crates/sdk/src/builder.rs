//! Builder for a session's settings.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use config::{BudgetSettings, PermissionModeSetting, RuleLine, SettingsFile};
use protocol::api::SessionView;
use protocol::{AgentSpec, Budget, PermissionMode, ReasoningEffort, RuleEffect, Usd};
use runtime::{ClientExtensions, SessionStart, SystemText};

use crate::{AgentSession, Bosun, Error, FunctionTool};

/// Settings for a session. Anything not set comes from the user's settings, or from the resumed session.
#[derive(Debug)]
#[must_use = "nothing happens before `open`"]
pub struct SessionBuilder {
    pub(crate) bosun: Bosun,
    pub(crate) start: SessionStart,
    /// The settings of the resumed or forked session.
    pub(crate) previous: Option<(SessionView, SettingsFile)>,
    pub(crate) overrides: SettingsFile,
    pub(crate) rules: Vec<(RuleEffect, String)>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) agents: Vec<AgentSpec>,
    pub(crate) client_extensions: ClientExtensions,
    pub(crate) guardian: PathBuf,
    pub(crate) ask_policy: AskPolicy,
}

/// What happens to a tool call that needs a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskPolicy {
    /// It is denied.
    Deny,
    /// It waits for [`AgentSession::decide`].
    Wait,
}

impl SessionBuilder {
    pub(crate) fn new(
        bosun: Bosun,
        start: SessionStart,
        previous: Option<(SessionView, SettingsFile)>,
    ) -> SessionBuilder {
        SessionBuilder {
            bosun,
            start,
            previous,
            overrides: SettingsFile::default(),
            rules: Vec::new(),
            cwd: None,
            agents: Vec::new(),
            client_extensions: ClientExtensions::default(),
            // Searched in `PATH`; if it is missing, the first command reports that.
            guardian: "bosun".into(),
            ask_policy: AskPolicy::Deny,
        }
    }

    /// Uses this model, such as `anthropic/claude-sonnet-5-5`, or `script/FILE` for a scripted one.
    pub fn model(mut self, model: impl Into<String>) -> SessionBuilder {
        self.overrides.model = Some(model.into());
        self
    }

    /// Sets the model's reasoning effort.
    pub fn effort(mut self, effort: ReasoningEffort) -> SessionBuilder {
        self.overrides.effort = Some(effort);
        self
    }

    /// Sets the folder to work in. The default is the program's current folder.
    pub fn cwd(self, folder: impl Into<PathBuf>) -> SessionBuilder {
        SessionBuilder { cwd: Some(folder.into()), ..self }
    }

    /// Sets the permission mode, which applies to calls that no rule matches.
    pub fn permission(mut self, mode: PermissionMode) -> SessionBuilder {
        self.overrides.permissions.mode = Some(PermissionModeSetting(mode));
        self
    }

    /// Allows calls that a rule matches, such as `shell(git *)`, `edit(src/**)` or the name of a tool.
    pub fn allow(self, rule: impl Into<String>) -> SessionBuilder {
        self.rule(RuleEffect::Allow, rule.into())
    }

    /// Requires a decision for calls that a rule matches.
    pub fn ask(self, rule: impl Into<String>) -> SessionBuilder {
        self.rule(RuleEffect::Ask, rule.into())
    }

    /// Denies calls that a rule matches, at every depth and in every mode.
    pub fn deny(self, rule: impl Into<String>) -> SessionBuilder {
        self.rule(RuleEffect::Deny, rule.into())
    }

    /// Limits what the session and everything below it may spend.
    pub fn budget(mut self, budget: Budget) -> SessionBuilder {
        let Budget { tokens, micros } = budget;
        self.overrides.budget =
            BudgetSettings { usd: micros.map(Usd), tokens: tokens.and_then(NonZeroU64::new), day_usd: None };
        self
    }

    /// Limits the turns of one activation of the root.
    pub fn max_turns(mut self, turns: u32) -> SessionBuilder {
        self.overrides.max_turns = Some(turns);
        self
    }

    /// Adds an agent definition that may be started.
    pub fn agent(mut self, agent: AgentSpec) -> SessionBuilder {
        self.agents.push(agent);
        self
    }

    /// Adds a tool that the program runs. It needs permission like any other: [`SessionBuilder::allow`] with its name
    /// lets it run. It replaces a built-in tool of the same name.
    pub fn tool(mut self, tool: FunctionTool) -> SessionBuilder {
        self.client_extensions.tools.push(Arc::new(tool));
        self
    }

    /// Appends instructions to the root's system prompt.
    pub fn instructions(mut self, text: impl Into<String>) -> SessionBuilder {
        self.client_extensions.system_text = SystemText::Appended(text.into());
        self
    }

    /// Lets calls that need a decision wait for [`AgentSession::decide`], without a time limit. Otherwise they are
    /// denied at once.
    pub fn wait_for_decisions(self) -> SessionBuilder {
        SessionBuilder { ask_policy: AskPolicy::Wait, ..self }
    }

    /// Starts commands through this `bosun` executable. The default is the one found in `PATH`.
    pub fn guardian(self, executable: impl Into<PathBuf>) -> SessionBuilder {
        SessionBuilder { guardian: executable.into(), ..self }
    }

    /// Starts commands through this program, whose `main` must start with [`guard`](crate::guard).
    pub fn guarded_by_this_program(self) -> SessionBuilder {
        // Not the file's path, which may contain another version by the time the guardian starts.
        self.guardian("/proc/self/exe")
    }

    /// Opens the session and resumes interrupted work in it.
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

    /// The values set on this builder, as a settings layer.
    pub(crate) fn settings_layer(&self) -> Result<SettingsFile, Error> {
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
