//! What clients are told of agents and commands: their start, their end, and what reaches the session of it.

use protocol::{At, Kind, Mode, Outcome, TaskId, TaskSpec, Turn, Usage};
use serde_json::{Value, json};

use super::Translator;
use super::translator::changed;
use super::wire::Wire;

/// What must be remembered of a task.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) spec: TaskSpec,
    /// The model that was asked last.
    pub(super) model: Option<String>,
    /// The turn under way, and how many of its calls have no answer.
    pub(super) turn: Option<(Turn, usize)>,
    pub(super) calls: u64,
    pub(super) usage: Usage,
    run: Run,
    /// How its last activation ended.
    outcome: Option<Outcome>,
}

#[derive(Debug)]
enum Run {
    Resting,
    Running { since: At },
}

impl Agent {
    pub(super) fn is_running(&self) -> bool {
        matches!(self.run, Run::Running { .. })
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

impl Translator {
    pub(super) fn created(&mut self, task: TaskId, at: At, spec: TaskSpec) -> Vec<Wire> {
        if spec.kind == Kind::Main {
            self.root = Some(task);
        }
        let model = spec.model.as_ref().map(|model| model.effective.clone());
        let run = match spec.kind {
            Kind::Main => Run::Resting,
            Kind::Agent | Kind::Shell => Run::Running { since: at },
        };
        let agent = Agent { spec, model, turn: None, calls: 0, usage: Usage::default(), run, outcome: None };
        let told = match agent.spec.kind {
            Kind::Main => Vec::new(),
            Kind::Shell => changed(),
            Kind::Agent => [vec![started(task, &agent).of(Some(task))], changed()].concat(),
        };
        self.agents.insert(task, agent);
        told
    }

    pub(super) fn activated(&mut self, task: TaskId, at: At) -> Vec<Wire> {
        if let Some(agent) = self.agents.get_mut(&task) {
            agent.run = Run::Running { since: at };
        }
        changed()
    }

    /// An activation is over.
    pub(super) fn rested(&mut self, task: TaskId, at: At, outcome: &Outcome) -> Vec<Wire> {
        let mut told: Vec<Wire> = self.turn_over(task).into_iter().collect();
        let whose = self.whose(task);
        let Some(agent) = self.agents.get_mut(&task) else { return told };
        let run = std::mem::replace(&mut agent.run, Run::Resting);
        agent.outcome = Some(outcome.clone());
        match agent.spec.kind {
            Kind::Main => told.extend(root_rested(outcome)),
            Kind::Agent => {
                told.push(ended(task, agent, &run, at, outcome).of(whose));
                told.extend(changed());
            }
            Kind::Shell => told.extend(changed()),
        }
        told
    }

    /// A task is over; one that ended outside an activation was not spoken of yet.
    pub(super) fn finished(&mut self, task: TaskId, at: At, outcome: &Outcome) -> Vec<Wire> {
        match self.agents.get(&task).is_some_and(Agent::is_running) {
            true => self.rested(task, at, outcome),
            false => changed(),
        }
    }

    /// That a task's result reached an agent.
    pub(super) fn notification(&self, task: TaskId) -> Option<Wire> {
        let agent = self.agents.get(&task)?;
        let (name, description) = (&agent.spec.name, &agent.spec.description);
        let completed = !matches!(agent.outcome, Some(Outcome::Failed { .. } | Outcome::Lost));
        let kind = match agent.spec.kind {
            Kind::Shell => {
                json!({ "type": "shell_completed", "shellId": task.to_string(), "description": description })
            }
            Kind::Agent | Kind::Main => json!({
                "type": "agent_completed",
                "agentId": task.to_string(),
                "agentType": agent.spec.agent,
                "displayName": name,
                "description": description,
                "status": if completed { "completed" } else { "failed" },
            }),
        };
        let word = agent.outcome.as_ref().map_or("ended", Outcome::word);
        let content = json!({ "content": format!("{name} {word}"), "kind": kind });
        Some(Wire::kept("system.notification", content))
    }
}

fn started(task: TaskId, agent: &Agent) -> Wire {
    let mut content = agent.names(task);
    content["agentDescription"] = agent.spec.description.clone().into();
    content["agentType"] = agent.spec.agent.clone().into();
    content["resumable"] = true.into();
    content["executionMode"] = match agent.spec.mode {
        Mode::Sync => "sync".into(),
        Mode::Background => "background".into(),
    };
    if let Some(model) = &agent.model {
        content["model"] = model.clone().into();
    }
    Wire::kept("subagent.started", content)
}

fn ended(task: TaskId, agent: &Agent, run: &Run, at: At, outcome: &Outcome) -> Wire {
    let mut content = agent.names(task);
    content["totalToolCalls"] = agent.calls.into();
    content["totalTokens"] = agent.usage.total().into();
    if let Run::Running { since } = run {
        content["durationMs"] = u64::try_from(at.since(*since).as_millis()).unwrap_or(u64::MAX).into();
    }
    if let Some(model) = &agent.model {
        content["model"] = model.clone().into();
    }
    match outcome {
        Outcome::Completed => Wire::kept("subagent.completed", content),
        Outcome::Cancelled { .. } => {
            content["cancelled"] = true.into();
            Wire::kept("subagent.completed", content)
        }
        Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::BudgetExhausted | Outcome::Lost => {
            content["error"] = words(outcome).into();
            Wire::kept("subagent.failed", content)
        }
    }
}

/// What the end of the session's own activation means to clients, besides that it rests.
fn root_rested(outcome: &Outcome) -> Vec<Wire> {
    let (news, aborted) = match outcome {
        Outcome::Completed => (None, false),
        Outcome::Cancelled { .. } => (Some(Wire::kept("abort", json!({ "reason": "user_initiated" }))), true),
        Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::BudgetExhausted | Outcome::Lost => {
            let content = json!({ "errorType": outcome.word(), "message": words(outcome) });
            (Some(Wire::kept("session.error", content)), false)
        }
    };
    let idle = if aborted { json!({ "aborted": true }) } else { json!({}) };
    news.into_iter().chain([Wire::told("assistant.idle", idle)]).collect()
}

fn words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { message, .. } => message.clone(),
        Outcome::TimedOut { .. } => "a limit of turns or time is reached".to_owned(),
        Outcome::BudgetExhausted => "what may be spent is spent".to_owned(),
        Outcome::Lost => "nobody knows how it ended".to_owned(),
        Outcome::Completed | Outcome::Cancelled { .. } => outcome.word().to_owned(),
    }
}
