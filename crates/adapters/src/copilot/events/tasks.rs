//! Events about agents and commands: their start, their end, and the delivery of their results.

use protocol::{TaskForm, TaskId, TaskMode, TaskOutcome, TaskSpec, Timestamp, Turn, Usage};
use serde_json::{Value, json};

use super::EventTranslator;
use super::event::CopilotEvent;
use super::translator::tasks_changed;
use crate::copilot::model_names::client_model_name;

/// What the translator remembers of a task to build its events.
#[derive(Debug)]
pub(super) struct TrackedTask {
    pub(super) spec: TaskSpec,
    /// The model of the last turn.
    pub(super) model: Option<String>,
    /// The current turn, and the number of its calls without an answer.
    pub(super) turn: Option<(Turn, usize)>,
    pub(super) calls: u64,
    pub(super) usage: Usage,
    run: AgentRunState,
    /// How its last activation ended.
    outcome: Option<TaskOutcome>,
}

#[derive(Debug)]
enum AgentRunState {
    Idle,
    Running { since: Timestamp },
}

impl TrackedTask {
    pub(super) fn is_running(&self) -> bool {
        matches!(self.run, AgentRunState::Running { .. })
    }

    /// The call that started it, or its own id if there is none.
    pub(super) fn call_id(&self, id: TaskId) -> String {
        self.spec.call.as_ref().map_or_else(|| id.to_string(), ToString::to_string)
    }

    fn identity(&self, id: TaskId) -> Value {
        json!({
            "toolCallId": self.call_id(id),
            "agentName": self.spec.agent,
            "agentDisplayName": self.spec.name,
        })
    }
}

impl EventTranslator {
    pub(super) fn task_created(&mut self, task: TaskId, at: Timestamp, spec: TaskSpec) -> Vec<CopilotEvent> {
        let is_root = spec.kind.is_root();
        if is_root {
            self.root = Some(task);
        }
        let model = spec.model.as_ref().map(|model| model.effective.clone());
        let run = if is_root { AgentRunState::Idle } else { AgentRunState::Running { since: at } };
        let agent = TrackedTask { spec, model, turn: None, calls: 0, usage: Usage::default(), run, outcome: None };
        let events = match agent.spec.kind.form() {
            TaskForm::Agent if is_root => Vec::new(),
            TaskForm::Agent => [vec![agent_started(task, &agent).for_agent(Some(task))], tasks_changed()].concat(),
            TaskForm::Command | TaskForm::Reported => tasks_changed(),
            TaskForm::Question => Vec::new(),
        };
        self.agents.insert(task, agent);
        events
    }

    pub(super) fn activation_started(&mut self, task: TaskId, at: Timestamp) -> Vec<CopilotEvent> {
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.run = AgentRunState::Running { since: at };
        }
        tasks_changed()
    }

    /// Handles the end of an activation.
    pub(super) fn activation_ended(&mut self, task: TaskId, at: Timestamp, outcome: &TaskOutcome) -> Vec<CopilotEvent> {
        let mut events: Vec<CopilotEvent> = self.end_turn(task).into_iter().collect();
        let agent_id = self.subagent_id(task);
        let Some(agent) = self.agents.get_mut(&task) else { return events };
        let run = std::mem::replace(&mut agent.run, AgentRunState::Idle);
        agent.outcome = Some(outcome.clone());
        match agent.spec.kind.form() {
            TaskForm::Agent if agent.spec.kind.is_root() => events.extend(root_activation_ended(outcome)),
            TaskForm::Agent => {
                events.push(agent_ended(task, agent, &run, at, outcome).for_agent(agent_id));
                events.extend(tasks_changed());
            }
            TaskForm::Command | TaskForm::Reported => events.extend(tasks_changed()),
            TaskForm::Question => {}
        }
        events
    }

    /// Handles the end of a task. A task that still counts as running has not had its end reported: report it now.
    pub(super) fn task_finished(&mut self, task: TaskId, at: Timestamp, outcome: &TaskOutcome) -> Vec<CopilotEvent> {
        match self.agents.get(&task).is_some_and(TrackedTask::is_running) {
            true => self.activation_ended(task, at, outcome),
            false => tasks_changed(),
        }
    }

    /// The event for the delivery of a task's result to an agent.
    pub(super) fn notification(&self, task: TaskId) -> Option<CopilotEvent> {
        let agent = self.agents.get(&task)?;
        let (name, description) = (&agent.spec.name, &agent.spec.description);
        let failed = agent.outcome.as_ref().is_some_and(is_failure);
        let kind = match agent.spec.kind.form() {
            TaskForm::Command | TaskForm::Reported => {
                json!({ "type": "shell_completed", "shellId": task.to_string(), "description": description })
            }
            TaskForm::Agent | TaskForm::Question => json!({
                "type": "agent_completed",
                "agentId": task.to_string(),
                "agentType": agent.spec.agent,
                "displayName": name,
                "description": description,
                "status": if failed { "failed" } else { "completed" },
            }),
        };
        let outcome = agent.outcome.as_ref().map_or("ended", TaskOutcome::as_str);
        let content = json!({ "content": format!("{name} {outcome}"), "kind": kind });
        Some(CopilotEvent::persistent("system.notification", content))
    }
}

fn agent_started(task: TaskId, agent: &TrackedTask) -> CopilotEvent {
    let mut content = agent.identity(task);
    content["agentDescription"] = agent.spec.description.clone().into();
    content["agentType"] = agent.spec.agent.clone().into();
    content["resumable"] = true.into();
    content["executionMode"] = match agent.spec.mode {
        TaskMode::Sync => "sync".into(),
        TaskMode::Background => "background".into(),
    };
    if let Some(model) = &agent.model {
        content["model"] = client_model_name(model).into();
    }
    CopilotEvent::persistent("subagent.started", content)
}

fn agent_ended(
    task: TaskId,
    agent: &TrackedTask,
    run: &AgentRunState,
    at: Timestamp,
    outcome: &TaskOutcome,
) -> CopilotEvent {
    let mut content = agent.identity(task);
    content["totalToolCalls"] = agent.calls.into();
    content["totalTokens"] = agent.usage.total().into();
    if let AgentRunState::Running { since } = run {
        content["durationMs"] = u64::try_from(at.since(*since).as_millis()).unwrap_or(u64::MAX).into();
    }
    if let Some(model) = &agent.model {
        content["model"] = client_model_name(model).into();
    }
    if is_failure(outcome) {
        content["error"] = outcome_text(outcome).into();
        return CopilotEvent::persistent("subagent.failed", content);
    }
    if matches!(outcome, TaskOutcome::Cancelled { .. }) {
        content["cancelled"] = true.into();
    }
    CopilotEvent::persistent("subagent.completed", content)
}

/// Whether clients are told that the agent failed. The SDK counts a cancelled agent as completed.
fn is_failure(outcome: &TaskOutcome) -> bool {
    match outcome {
        TaskOutcome::Completed | TaskOutcome::Cancelled { .. } => false,
        TaskOutcome::Failed { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => true,
    }
}

/// The events for the end of a root activation.
fn root_activation_ended(outcome: &TaskOutcome) -> Vec<CopilotEvent> {
    let (event, aborted) = match outcome {
        TaskOutcome::Completed => (None, false),
        TaskOutcome::Cancelled { .. } => {
            (Some(CopilotEvent::persistent("abort", json!({ "reason": "user_initiated" }))), true)
        }
        TaskOutcome::Failed { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => {
            let content = json!({ "errorType": outcome.as_str(), "message": outcome_text(outcome) });
            (Some(CopilotEvent::persistent("session.error", content)), false)
        }
    };
    let idle = if aborted { json!({ "aborted": true }) } else { json!({}) };
    event.into_iter().chain([CopilotEvent::transient("assistant.idle", idle)]).collect()
}

pub(super) fn outcome_text(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Failed { message, .. } => message.clone(),
        TaskOutcome::TimedOut { .. } => "the turn limit or the time limit was reached".to_owned(),
        TaskOutcome::BudgetExhausted => "the budget is used up".to_owned(),
        TaskOutcome::Lost => "the outcome is unknown".to_owned(),
        TaskOutcome::Completed | TaskOutcome::Cancelled { .. } => outcome.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{CancelBy, FailKind, LimitKind, SessionId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn notification_and_end_event_agree_on_failure() {
        let failed = TaskOutcome::Failed { kind: FailKind::Model, message: "400".into() };
        for (outcome, status) in [
            (TaskOutcome::Completed, "completed"),
            (TaskOutcome::Cancelled { by: CancelBy::User }, "completed"),
            (failed, "failed"),
            (TaskOutcome::TimedOut { limit: LimitKind::Time }, "failed"),
            (TaskOutcome::BudgetExhausted, "failed"),
            (TaskOutcome::Lost, "failed"),
        ] {
            let mut translator = EventTranslator::new(SessionId::new(Uuid::nil()), "session".into());
            let task = TaskId::new(Uuid::from_u128(1));
            translator.task_created(task, Timestamp(1), TaskSpec::agent("worker", "counter"));
            let ended = translator.activation_ended(task, Timestamp(2), &outcome);
            let kind = format!("subagent.{status}");
            assert!(ended.iter().any(|event| event.kind == kind), "{outcome:?}: {ended:?}");
            let notification = translator.notification(task).expect("the task is known");
            assert_eq!(notification.content["kind"]["status"], status, "{outcome:?}");
        }
    }
}
