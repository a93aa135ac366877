//! Starts an agent, and waits for it unless it works in the background.

use kernel::{CallPhase, KernelInput, TaskSpawn};
use protocol::api::StartAgentParams;
use protocol::{AgentSpec, Clip, CompletionPolicy, TaskId, TaskMode, TaskSpec, TaskType, WaitEnd};
use tools::{StartAgentRequest, ToolError};

use super::result_text::first_result;
use super::{AgentSubagents, tool_error};
use crate::agent::SessionContext;
use crate::{definition, expectations};

/// The most bytes of a description.
const MAX_DESCRIPTION_BYTES: usize = 200;

/// The most characters of a name.
const MAX_NAME_CHARS: usize = 40;

impl AgentSubagents {
    pub(super) async fn start_agent(&self, request: StartAgentRequest) -> Result<String, ToolError> {
        let over = self.caller.waits.register(&self.caller.call);
        let child = match self.caller.phase().await.map_err(ToolError::broken)? {
            // An earlier owner started the agent; this one only waits.
            Some(CallPhase::Waiting(wait)) => wait.on.first().copied(),
            Some(CallPhase::Waited { on, .. }) => return self.outcome(on.first().copied()).await,
            Some(
                CallPhase::Pending
                | CallPhase::Started
                | CallPhase::Asking(_)
                | CallPhase::Decided(_)
                | CallPhase::Answered,
            )
            | None => match self.spawn(request).await? {
                (child, TaskMode::Sync) => Some(child),
                // The kernel answered the call in the same step that started the agent.
                (_child, TaskMode::Background) => return Ok(String::new()),
            },
        };
        // Satisfied or promoted: see the phase.
        let _why = over.await;
        self.outcome(child).await
    }

    async fn spawn(&self, request: StartAgentRequest) -> Result<(TaskId, TaskMode), ToolError> {
        let settings = &self.context.settings;
        let agent = self.choose_definition(&request.agent_type)?;
        if let Some(expected) = &request.expects {
            expectations::check(expected)
                .map_err(|why| ToolError::refused(format!("`expects` cannot be used: {why}")))?;
        }
        let model = self.context.model_for(agent, request.model.as_deref())?;
        let wanted = request.mode.unwrap_or(if agent.background { TaskMode::Background } else { TaskMode::Sync });
        // Only the root receives results of background agents.
        let mode = if self.is_root() { wanted } else { TaskMode::Sync };
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

    /// The answer of the call when its wait is over.
    async fn outcome(&self, child: Option<TaskId>) -> Result<String, ToolError> {
        let child = child.ok_or_else(|| ToolError::refused("the agent is gone"))?;
        let promoted = match self.caller.phase().await.map_err(ToolError::broken)? {
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
            ..TaskSpec::new(TaskType::Agent, agent.name.as_str(), path_name(name))
        }
    }

    /// A background agent started by the user.
    pub(crate) fn user_spawn(&self, wanted: StartAgentParams) -> Result<TaskSpawn, ToolError> {
        let StartAgentParams { agent: kind, prompt, name, description, model } = wanted;
        let catalog = &self.settings.catalog;
        let Some(agent) = catalog.agent(&kind).filter(|agent| agent.user_invocable) else {
            let names = catalog.agents.iter().filter(|agent| agent.user_invocable).map(|agent| agent.name.as_str());
            let (shown, known) = (Clip::new(&kind, 100), names.collect::<Vec<_>>().join(", "));
            return Err(ToolError::refused(format!("there is no agent `{shown}`; there are: {known}")));
        };
        let definition = definition::definition_of(agent).map_err(ToolError::refused)?;
        let line = prompt.lines().next().unwrap_or_default();
        let model = match model {
            Some(wanted) => self.model_wanted(&wanted),
            None => self.model_for(agent, None),
        }?;
        let spec = TaskSpec {
            description: Clip::new(description.as_deref().unwrap_or(line).trim(), MAX_DESCRIPTION_BYTES).into_string(),
            definition: Some(definition.id.clone()),
            model: Some(model),
            ..self.task_spec(agent, name.as_deref().unwrap_or(&agent.name))
        };
        let id = TaskId::new(self.settings.ids.uuid());
        Ok(TaskSpawn { id, spec, prompt, by: None, until: None, definition: Some(definition) })
    }
}

/// Converts a name to one that paths can contain.
fn path_name(given: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = given.trim().chars().map(plain).take(MAX_NAME_CHARS).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    if name.is_empty() { "agent".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::path_name;

    #[test]
    fn a_name_fits_a_path() {
        let names = ["unit tests", "../../etc", "a/b", "  ", "Größe", "…"].map(path_name);
        assert_eq!(names, ["unit-tests", "etc", "a-b", "agent", "Größe", "agent"]);
    }
}
