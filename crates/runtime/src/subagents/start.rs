//! Starts an agent, and waits for it unless it works in the background.

use kernel::{CallPhase, KernelInput, TaskSpawn};
use protocol::api::StartAgentParams;
use protocol::{AgentSpec, Clip, Hinted, TaskId, TaskMode, WaitEnd};
use tools::{StartAgentRequest, ToolError};

use super::result_text::first_result;
use super::{AgentChoiceError, AgentSubagents, tool_error};
use crate::definition::DefinitionError;
use crate::expectations;
use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::supervisor::InputRejection;

/// Says that a call waited instead of starting its agent in the background.
const WAITED_NOTE: &str = "You cannot start background agents here (only the main agent and agents with \
                           `background-spawns` can), so this call waited for the result.";

/// Why an agent that the user wants is not started.
#[derive(Debug, thiserror::Error)]
pub enum StartAgentError {
    /// It cannot have its definition or its model.
    #[error(transparent)]
    Choice(#[from] AgentChoiceError),
    /// It cannot be started with its definition.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The session rejected it.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

impl Hinted for StartAgentError {
    fn hint(&self) -> Option<String> {
        match self {
            StartAgentError::Choice(error) => error.hint(),
            StartAgentError::Definition(error) => error.hint(),
            StartAgentError::Rejected(_) => None,
        }
    }
}

impl AgentSubagents {
    pub(super) async fn start_agent(&self, request: StartAgentRequest) -> Result<String, ToolError> {
        let wait_end = self.caller.waits.register(&self.caller.call);
        let note = self.sync_note(&request);
        let child = match self.caller.phase().await.map_err(ToolError::failed)? {
            // An earlier owner started the agent; this one only waits.
            Some(CallPhase::Waiting(wait)) => wait.awaited.first().copied(),
            Some(CallPhase::Waited { on, .. }) => return self.answer_after_wait(on.first().copied(), note).await,
            Some(
                CallPhase::Pending
                | CallPhase::Started
                | CallPhase::Asking(_)
                | CallPhase::Decided(_)
                | CallPhase::Answered,
            )
            | None => match self.spawn(request).await? {
                (child, TaskMode::Sync) => Some(child),
                // The kernel answered the call when it started the agent, so this text is not used.
                (_child, TaskMode::Background) => return Ok(String::new()),
            },
        };
        // `answer_after_wait` reads from the phase of the call why the wait ended.
        let _why = wait_end.await;
        self.answer_after_wait(child, note).await
    }

    async fn spawn(&self, request: StartAgentRequest) -> Result<(TaskId, TaskMode), ToolError> {
        let agent = self.choose_definition(&request.agent_type).map_err(|error| ToolError::refused_for(&error))?;
        if let Some(expected) = &request.expects {
            let usable = expectations::check_usable(expected).map_err(AgentChoiceError::from);
            usable.map_err(|error| ToolError::refused_for(&error))?;
        }
        let model = self.context.model_for(agent, request.model.as_deref());
        let model = model.map_err(|error| ToolError::refused_for(&error))?;
        let mode = if self.context.log.may_spawn_in_background(self.caller_task()) {
            requested_mode(&request, agent)
        } else {
            TaskMode::Sync
        };
        let spawn = SpawnBuilder::agent(&self.context, agent, &request.name, model)
            .map_err(|error| ToolError::refused_for(&error))?
            .called_by(&self.caller)
            .mode(mode)
            .describe(&request.description)
            .effort(request.effort)
            .expects(request.expects)
            .prompt(request.prompt)
            .build(&self.context);
        let id = spawn.id;
        self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await.map_err(tool_error)?;
        Ok((id, mode))
    }

    /// Tells the model that the call waits although background was requested. Computed from the request, so that the
    /// next owner of the session says the same.
    fn sync_note(&self, request: &StartAgentRequest) -> Option<&'static str> {
        let agent = self.choose_definition(&request.agent_type).ok()?;
        let is_changed = requested_mode(request, agent) == TaskMode::Background
            && !self.context.log.may_spawn_in_background(self.caller_task());
        is_changed.then_some(WAITED_NOTE)
    }

    /// The answer of the call after its wait.
    async fn answer_after_wait(&self, child: Option<TaskId>, note: Option<&str>) -> Result<String, ToolError> {
        let child = child.ok_or_else(|| ToolError::refused("the agent is gone"))?;
        let promoted = match self.caller.phase().await.map_err(ToolError::failed)? {
            Some(CallPhase::Waited { why, .. }) => why == WaitEnd::Promoted,
            Some(_) | None => false,
        };
        let path = self.context.log.roster.path(child);
        if promoted {
            return Ok(format!(
                "The user sent {path} ({child}) to the background. Do other work meanwhile: its result arrives as a message."
            ));
        }
        let result = first_result(&self.context.log, child).unwrap_or_else(|| format!("{path} ended without a result"));
        Ok(match note {
            Some(note) => format!("{note}\n{result}"),
            None => result,
        })
    }
}

/// The mode that the call asks for, or else the agent's definition.
fn requested_mode(request: &StartAgentRequest, agent: &AgentSpec) -> TaskMode {
    request.mode.unwrap_or(if agent.background { TaskMode::Background } else { TaskMode::Sync })
}

impl SessionContext {
    /// Prepares the start of a background agent for the user.
    pub(crate) fn user_spawn(&self, params: StartAgentParams) -> Result<TaskSpawn, StartAgentError> {
        let StartAgentParams { agent: agent_type, prompt, name, description, model } = params;
        let catalog = &self.catalog.definitions;
        let Some(agent) = catalog.agent(&agent_type).filter(|agent| agent.user_invocable) else {
            let names = catalog.agents.iter().filter(|agent| agent.user_invocable).map(|agent| agent.name.as_str());
            let (shown, known) = (Clip::new(&agent_type, 100), names.collect::<Vec<_>>().join(", "));
            return Err(AgentChoiceError::UnknownAgent { shown, known }.into());
        };
        let first_line = prompt.lines().next().unwrap_or_default().to_owned();
        let model = match model {
            Some(wanted) => self.resolve_named_model(&wanted),
            None => self.model_for(agent, None),
        }?;
        let built = SpawnBuilder::agent(self, agent, name.as_deref().unwrap_or(&agent.name), model)?;
        let built = built.describe(description.as_deref().unwrap_or(&first_line));
        Ok(built.prompt(prompt).build(self))
    }
}
