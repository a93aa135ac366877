//! Builder for a session's settings.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use protocol::api::SessionView;
use protocol::{AgentSpec, Budget, PermissionMode, ReasoningEffort, Seconds, SessionOptions, SettingsFileScope, Usd};
use runtime::{ClientExtensions, SessionStart, SystemText};

use crate::{AgentSession, Bosun, Error, FunctionTool};

/// Settings for a session. Anything not set comes from the user's settings, or from the resumed session.
#[derive(Debug)]
#[must_use = "nothing happens before `open`"]
pub struct SessionBuilder {
    pub(crate) bosun: Bosun,
    pub(crate) start: SessionStart,
    /// The resumed or forked session.
    pub(crate) previous: Option<SessionView>,
    pub(crate) options: SessionOptions,
    pub(crate) agents: Vec<AgentSpec>,
    pub(crate) client_extensions: ClientExtensions,
    pub(crate) guardian: PathBuf,
}

impl SessionBuilder {
    pub(crate) fn new(bosun: Bosun, start: SessionStart, previous: Option<SessionView>) -> SessionBuilder {
        SessionBuilder {
            bosun,
            start,
            previous,
            options: SessionOptions {
                // Files of a project must not configure a program.
                setting_sources: Some(vec![SettingsFileScope::User]),
                ask_user: Some(false),
                ask_wait_seconds: Some(Seconds(Duration::ZERO)),
                ..SessionOptions::default()
            },
            agents: Vec::new(),
            client_extensions: ClientExtensions::default(),
            // Searched in `PATH`; if it is missing, the first command reports that.
            guardian: "bosun".into(),
        }
    }

    /// Uses this model, such as `anthropic/claude-sonnet-5-5`, or `script/FILE` for a scripted one.
    pub fn model(mut self, model: impl Into<String>) -> SessionBuilder {
        self.options.model = Some(model.into());
        self
    }

    /// Sets the model's reasoning effort.
    pub fn effort(mut self, effort: ReasoningEffort) -> SessionBuilder {
        self.options.effort = Some(effort);
        self
    }

    /// Sets the folder to work in. The default is the program's current folder.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> SessionBuilder {
        self.options.cwd = Some(folder.into());
        self
    }

    /// Sets the permission mode, which applies to calls that no rule matches.
    pub fn permission(mut self, mode: PermissionMode) -> SessionBuilder {
        self.options.permission = Some(mode);
        self
    }

    /// Allows calls that a rule matches, such as `shell(git *)`, `edit(src/**)` or the name of a tool.
    pub fn allow(mut self, rule: impl Into<String>) -> SessionBuilder {
        self.options.allow.push(rule.into());
        self
    }

    /// Requires a decision for calls that a rule matches.
    pub fn ask(mut self, rule: impl Into<String>) -> SessionBuilder {
        self.options.ask.push(rule.into());
        self
    }

    /// Denies calls that a rule matches, at every depth and in every mode.
    pub fn deny(mut self, rule: impl Into<String>) -> SessionBuilder {
        self.options.deny.push(rule.into());
        self
    }

    /// Limits what the session and everything below it may spend.
    pub fn budget(mut self, budget: Budget) -> SessionBuilder {
        let Budget { tokens, micros } = budget;
        self.options.max_budget_usd = micros.map(Usd);
        self.options.max_tokens = tokens.and_then(NonZeroU64::new);
        self
    }

    /// Limits the turns of one activation of the root.
    pub fn max_turns(mut self, turns: NonZeroU32) -> SessionBuilder {
        self.options.max_turns = Some(turns);
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
    pub fn wait_for_decisions(mut self) -> SessionBuilder {
        self.options.ask_user = None;
        self.options.ask_wait_seconds = None;
        self
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
}
