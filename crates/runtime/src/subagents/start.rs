//! Starts an agent, and waits for it unless it works in the background.

use kernel::{CallPhase, KernelInput, TaskSpawn};
use protocol::api::StartAgentParams;
use protocol::{AgentSpec, Clip, CompletionPolicy, TaskId, TaskMode, TaskSpec, WaitEnd};
use tools::{StartAgentRequest, ToolError};

use super::result_text::first_result;
use super::{AgentSubagents, tool_error};
use crate::agent::SessionContext;
use crate::{definition, expectations};

/// The maximum length of a description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// The maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 40;

impl AgentSubagents {
    pub(super) async fn start_agent(&self, request: StartAgentRequest) -> Result<String, ToolError> {
        let wait_end = self.caller.waits.register(&self.caller.call);
        let child = match self.caller.phase().await.map_err(ToolError::failed)? {
            // An earlier owner started the agent; this one only waits.
            Some(CallPhase::Waiting(wait)) => wait.awaited.first().copied(),
            Some(CallPhase::Waited { on, .. }) => return self.answer_after_wait(on.first().copied()).await,
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
        self.answer_after_wait(child).await
    }

    async fn spawn(&self, request: StartAgentRequest) -> Result<(TaskId, TaskMode), ToolError> {
        let settings = &self.context.settings;
        let agent = self.choose_definition(&request.agent_type)?;
        if let Some(expected) = &request.expects {
            expectations::check_usable(expected)
                .map_err(|why| ToolError::refused(format!("`expects` cannot be used: {why}")))?;
        }
        let model = self.context.model_for(agent, request.model.as_deref())?;
        let requested_mode =
            request.mode.unwrap_or(if agent.background { TaskMode::Background } else { TaskMode::Sync });
        // Only the root receives results of background agents.
        let mode = if self.is_root() { requested_mode } else { TaskMode::Sync };
        let definition = definition::definition_of(agent).map_err(ToolError::refused)?;
        let spec = TaskSpec {
            parent: Some(self.caller_task()),
            description: Clip::new(request.description.trim(), MAX_DESCRIPTION_BYTES).into_string(),
            mode,
            definition: Some(definition.id.clone()),
            model: Some(model),
            effort: request.effort,
            expects: request.expects,
            ..self.context.task_spec(agent, &request.name)
        };
        let id = TaskId::new(settings.ids.uuid());
        let by = Some((self.caller.run, self.caller.turn, self.caller.call.clone()));
        let spawn = TaskSpawn { id, spec, prompt: request.prompt, by, until: None, definition: Some(definition) };
        self.caller.supervisor.submit(KernelInput::Spawn(spawn)).await.map_err(tool_error)?;
        Ok((id, mode))
    }

    /// The answer of the call after its wait.
    async fn answer_after_wait(&self, child: Option<TaskId>) -> Result<String, ToolError> {
        let child = child.ok_or_else(|| ToolError::refused("the agent is gone"))?;
        let promoted = match self.caller.phase().await.map_err(ToolError::failed)? {
            Some(CallPhase::Waited { why, .. }) => why == WaitEnd::Promoted,
            Some(_) | None => false,
        };
        let path = self.context.roster.path(child);
        if promoted {
            return Ok(format!(
                "The user sent {path} ({child}) to the background. Do other work meanwhile: its result arrives as a message."
            ));
        }
        Ok(first_result(&self.context, child).unwrap_or_else(|| format!("{path} ended without a result")))
    }
}

impl SessionContext {
    /// The spec of a task for an agent of this definition, as far as the definition determines it.
    pub(crate) fn task_spec(&self, agent: &AgentSpec, name: &str) -> TaskSpec {
        TaskSpec {
            on_complete: if self.settings.features.multi_turn {
                CompletionPolicy::Idle
            } else {
                CompletionPolicy::Finish
            },
            max_turns: agent.max_turns,
            budget: agent.budget,
            isolation: agent.isolation.clone(),
            ..TaskSpec::agent(agent.name.as_str(), path_name(name))
        }
    }

    /// Prepares the start of a background agent for the user.
    pub(crate) fn user_spawn(&self, params: StartAgentParams) -> Result<TaskSpawn, ToolError> {
        let StartAgentParams { agent: agent_type, prompt, name, description, model } = params;
        let catalog = &self.settings.catalog;
        let Some(agent) = catalog.agent(&agent_type).filter(|agent| agent.user_invocable) else {
            let names = catalog.agents.iter().filter(|agent| agent.user_invocable).map(|agent| agent.name.as_str());
            let (shown, known) = (Clip::new(&agent_type, 100), names.collect::<Vec<_>>().join(", "));
            return Err(ToolError::refused(format!("there is no agent `{shown}`; there are: {known}")));
        };
        let definition = definition::definition_of(agent).map_err(ToolError::refused)?;
        let first_line = prompt.lines().next().unwrap_or_default();
        let model = match model {
            Some(wanted) => self.resolve_named_model(&wanted),
            None => self.model_for(agent, None),
        }?;
        let spec = TaskSpec {
            description: Clip::new(description.as_deref().unwrap_or(first_line).trim(), MAX_DESCRIPTION_BYTES)
                .into_string(),
            definition: Some(definition.id.clone()),
            model: Some(model),
            ..self.task_spec(agent, name.as_deref().unwrap_or(&agent.name))
        };
        let id = TaskId::new(self.settings.ids.uuid());
        Ok(TaskSpawn { id, spec, prompt, by: None, until: None, definition: Some(definition) })
    }
}

/// Converts a requested name to one that can be part of a task path, such as `/root/tests`.
fn path_name(requested: &str) -> String {
    let sanitize = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = requested.trim().chars().map(sanitize).take(MAX_NAME_CHARS).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() { "agent".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::path_name;

    #[test]
    fn names_are_converted_to_parts_of_task_paths() {
        let names = ["unit tests", "../../etc", "a/b", "  ", "Größe", "…"].map(path_name);
        assert_eq!(names, ["unit-tests", "etc", "a-b", "agent", "Größe", "agent"]);
    }
}
