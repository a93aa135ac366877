//! What clients are told of agents and commands: their start, their end, and what reaches the session of it.

use protocol::{TaskId, TaskMode, TaskOutcome, TaskSpec, TaskType, Timestamp, Turn, Usage};
use serde_json::{Value, json};

use super::EventTranslator;
use super::event::CopilotEvent;
use super::translator::tasks_changed;

/// What must be remembered of a task.
#[derive(Debug)]
pub(super) struct TrackedAgent {
    pub(super) spec: TaskSpec,
    /// The model that was asked last.
    pub(super) model: Option<String>,
    /// The turn under way, and how many of its calls have no answer.
    pub(super) turn: Option<(Turn, usize)>,
    pub(super) calls: u64,
    pub(super) usage: Usage,
    run: AgentRunState,
    /// How its last activation ended.
    outcome: Option<TaskOutcome>,
}

#[derive(Debug)]
enum AgentRunState {
    Resting,
    Running { since: Timestamp },
}

impl TrackedAgent {
    pub(super) fn is_running(&self) -> bool {
        matches!(self.run, AgentRunState::Running { .. })
    }

    /// The call that started it; its own id when none did.
    pub(super) fn call(&self, id: TaskId) -> String {
        self.spec.call.as_ref().map_or_else(|| id.to_string(), ToString::to_string)
    }

    fn names(&self, id: TaskId) -> Value {
        json!({
            "toolCallId": self.call(id),
            "agentName": self.spec.agent,
            "agentDisplayName": self.spec.name,
        })
    }
}

impl EventTranslator {
    pub(super) fn created(&mut self, task: TaskId, at: Timestamp, spec: TaskSpec) -> Vec<CopilotEvent> {
        if spec.kind == TaskType::Main {
            self.root = Some(task);
        }
        let model = spec.model.as_ref().map(|model| model.effective.clone());
        let run = match spec.kind {
            TaskType::Main => AgentRunState::Resting,
            TaskType::Agent | TaskType::Shell => AgentRunState::Running { since: at },
        };
        let agent = TrackedAgent { spec, model, turn: None, calls: 0, usage: Usage::default(), run, outcome: None };
        let told = match agent.spec.kind {
            TaskType::Main => Vec::new(),
            TaskType::Shell => tasks_changed(),
            TaskType::Agent => [vec![agent_started(task, &agent).for_agent(Some(task))], tasks_changed()].concat(),
        };
        self.agents.insert(task, agent);
        told
    }

    pub(super) fn activated(&mut self, task: TaskId, at: Timestamp) -> Vec<CopilotEvent> {
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.run = AgentRunState::Running { since: at };
        }
        tasks_changed()
    }

    /// An activation is over.
    pub(super) fn rested(&mut self, task: TaskId, at: Timestamp, outcome: &TaskOutcome) -> Vec<CopilotEvent> {
        let mut told: Vec<CopilotEvent> = self.turn_over(task).into_iter().collect();
        let whose = self.subagent_id(task);
        let Some(agent) = self.agents.get_mut(&task) else { return told };
        let run = std::mem::replace(&mut agent.run, AgentRunState::Resting);
        agent.outcome = Some(outcome.clone());
        match agent.spec.kind {
            TaskType::Main => told.extend(root_ended(outcome)),
            TaskType::Agent => {
                told.push(agent_ended(task, agent, &run, at, outcome).for_agent(whose));
                told.extend(tasks_changed());
            }
            TaskType::Shell => told.extend(tasks_changed()),
        }
        told
    }

    /// A task is over; one that ended outside an activation was not spoken of yet.
    pub(super) fn finished(&mut self, task: TaskId, at: Timestamp, outcome: &TaskOutcome) -> Vec<CopilotEvent> {
        match self.agents.get(&task).is_some_and(TrackedAgent::is_running) {
            true => self.rested(task, at, outcome),
            false => tasks_changed(),
        }
    }

    /// That a task's result reached an agent.
    pub(super) fn notification(&self, task: TaskId) -> Option<CopilotEvent> {
        let agent = self.agents.get(&task)?;
        let (name, description) = (&agent.spec.name, &agent.spec.description);
        let completed = !matches!(agent.outcome, Some(TaskOutcome::Failed { .. } | TaskOutcome::Lost));
        let kind = match agent.spec.kind {
            TaskType::Shell => {
                json!({ "type": "shell_completed", "shellId": task.to_string(), "description": description })
            }
            TaskType::Agent | TaskType::Main => json!({
                "type": "agent_completed",
                "agentId": task.to_string(),
                "agentType": agent.spec.agent,
                "displayName": name,
                "description": description,
                "status": if completed { "completed" } else { "failed" },
            }),
        };
        let word = agent.outcome.as_ref().map_or("ended", TaskOutcome::as_str);
        let content = json!({ "content": format!("{name} {word}"), "kind": kind });
        Some(CopilotEvent::persistent("system.notification", content))
    }
}

fn agent_started(task: TaskId, agent: &TrackedAgent) -> CopilotEvent {
    let mut content = agent.names(task);
    content["agentDescription"] = agent.spec.description.clone().into();
    content["agentType"] = agent.spec.agent.clone().into();
    content["resumable"] = true.into();
    content["executionMode"] = match agent.spec.mode {
        TaskMode::Sync => "sync".into(),
        TaskMode::Background => "background".into(),
    };
    if let Some(model) = &agent.model {
        content["model"] = model.clone().into();
    }
    CopilotEvent::persistent("subagent.started", content)
}

fn agent_ended(
    task: TaskId,
    agent: &TrackedAgent,
    run: &AgentRunState,
    at: Timestamp,
    outcome: &TaskOutcome,
) -> CopilotEvent {
    let mut content = agent.names(task);
    content["totalToolCalls"] = agent.calls.into();
    content["totalTokens"] = agent.usage.total().into();
    if let AgentRunState::Running { since } = run {
        content["durationMs"] = u64::try_from(at.since(*since).as_millis()).unwrap_or(u64::MAX).into();
    }
    if let Some(model) = &agent.model {
        content["model"] = model.clone().into();
    }
    match outcome {
        TaskOutcome::Completed => CopilotEvent::persistent("subagent.completed", content),
        TaskOutcome::Cancelled { .. } => {
            content["cancelled"] = true.into();
            CopilotEvent::persistent("subagent.completed", content)
        }
        TaskOutcome::Failed { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => {
            content["error"] = outcome_text(outcome).into();
            CopilotEvent::persistent("subagent.failed", content)
        }
    }
}

/// What the end of the session's own activation means to clients, besides that it rests.
fn root_ended(outcome: &TaskOutcome) -> Vec<CopilotEvent> {
    let (news, aborted) = match outcome {
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
    news.into_iter().chain([CopilotEvent::transient("assistant.idle", idle)]).collect()
}

fn outcome_text(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Failed { message, .. } => message.clone(),
        TaskOutcome::TimedOut { .. } => "a limit of turns or time is reached".to_owned(),
        TaskOutcome::BudgetExhausted => "what may be spent is spent".to_owned(),
        TaskOutcome::Lost => "nobody knows how it ended".to_owned(),
        TaskOutcome::Completed | TaskOutcome::Cancelled { .. } => outcome.as_str().to_owned(),
    }
}
