//! What clients learn about an agent and its session.

use std::fmt::Write;

use client::{ClientError, LatestFleet, SessionHandle};
use host::Home;
use protocol::api::{SessionView, TaskView, TasksParams};
use protocol::{FleetEnd, TaskId, TaskOutcome, TaskState};
use schemars::JsonSchema;
use serde::Serialize;

use super::arguments::MAX_TEXT_BYTES;

/// How many subagents are named.
const MAX_SUBAGENTS: usize = 50;

/// Maximum bytes of a title.
const MAX_TITLE_BYTES: usize = 200;

/// What an agent does now, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentStatus {
    /// It works, or waits for its turn.
    Working,
    /// A call or a question waits for a decision of the user.
    NeedsDecision,
    /// It cannot call its model now, and continues when it can.
    Parked,
    /// Its process is gone; it continues when its session is resumed.
    Interrupted,
    /// It has answered, and waits for messages.
    Completed,
    /// It could not continue.
    Failed,
    /// It was stopped.
    Cancelled,
    /// It reached a limit of turns or time.
    TimedOut,
    /// Its budget is used up.
    BudgetExhausted,
}

impl AgentStatus {
    pub(super) fn is_at_rest(self) -> bool {
        match self {
            AgentStatus::Working | AgentStatus::NeedsDecision | AgentStatus::Parked => false,
            AgentStatus::Interrupted
            | AgentStatus::Completed
            | AgentStatus::Failed
            | AgentStatus::Cancelled
            | AgentStatus::TimedOut
            | AgentStatus::BudgetExhausted => true,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            AgentStatus::Working => "working",
            AgentStatus::NeedsDecision => "needs_decision",
            AgentStatus::Parked => "parked",
            AgentStatus::Interrupted => "interrupted",
            AgentStatus::Completed => "completed",
            AgentStatus::Failed => "failed",
            AgentStatus::Cancelled => "cancelled",
            AgentStatus::TimedOut => "timed_out",
            AgentStatus::BudgetExhausted => "budget_exhausted",
        }
    }

    /// The status of a root at rest whose session had a fleet: a fleet from a plan has no turn of the root.
    fn after_fleet(self, fleet: Option<LatestFleet>) -> AgentStatus {
        match (self, fleet) {
            (AgentStatus::Completed | AgentStatus::Interrupted, Some(LatestFleet::Ended(end))) => match end {
                FleetEnd::Done => AgentStatus::Completed,
                FleetEnd::Blocked => AgentStatus::Failed,
                FleetEnd::Stopped => AgentStatus::Cancelled,
            },
            (status, Some(LatestFleet::Ended(_) | LatestFleet::Unfinished) | None) => status,
        }
    }

    fn of_outcome(outcome: Option<&TaskOutcome>) -> AgentStatus {
        match outcome {
            // It was begun and has not worked yet.
            None => AgentStatus::Interrupted,
            Some(TaskOutcome::Completed) => AgentStatus::Completed,
            Some(TaskOutcome::Failed { .. } | TaskOutcome::Lost) => AgentStatus::Failed,
            Some(TaskOutcome::Cancelled { .. }) => AgentStatus::Cancelled,
            Some(TaskOutcome::TimedOut { .. }) => AgentStatus::TimedOut,
            Some(TaskOutcome::BudgetExhausted) => AgentStatus::BudgetExhausted,
        }
    }

    fn of_task(task: &TaskView, waits_for_user: bool) -> AgentStatus {
        match &task.state {
            TaskState::Queued | TaskState::Running if waits_for_user => AgentStatus::NeedsDecision,
            TaskState::Queued | TaskState::Running => AgentStatus::Working,
            TaskState::Parked { .. } => AgentStatus::Parked,
            TaskState::Interrupted => AgentStatus::Interrupted,
            TaskState::Idle => AgentStatus::of_outcome(task.last_outcome.as_ref()),
            TaskState::Finished { outcome } => AgentStatus::of_outcome(Some(outcome)),
        }
    }
}

/// An agent with its session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct AgentReport {
    /// The session; the other tools take it.
    pub(super) session: String,
    /// What the agent does now, or how its last run ended.
    pub(super) status: AgentStatus,
    /// Its answer, or the latest text while it works.
    pub(super) text: String,
    /// The beginning of its first prompt.
    pub(super) title: String,
    /// The folder it works in.
    pub(super) folder: String,
    /// Its model.
    pub(super) model: String,
    /// How many turns the session took.
    pub(super) turns: u64,
    /// What the session cost in US dollars, if all prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_usd: Option<f64>,
    /// How many calls and questions wait for a decision of the user.
    pub(super) open_asks: u64,
    /// The agents below it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) subagents: Vec<SubagentReport>,
}

/// An agent below another one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct SubagentReport {
    /// Its path, which `task` of other tools takes.
    pub(super) task: String,
    /// Its type.
    pub(super) agent: String,
    /// What it does now, or how it ended.
    pub(super) status: AgentStatus,
}

/// What a session's file says of a run.
#[derive(Debug, Clone)]
pub(super) struct RunFacts {
    pub(super) view: SessionView,
    pub(super) status: AgentStatus,
    pub(super) report: AgentReport,
    /// Its latest fleet.
    pub(super) fleet: Option<LatestFleet>,
    /// Whether the session's next owner has something to do.
    has_work_left: bool,
}

impl RunFacts {
    /// Reads a session's file.
    pub(super) fn read(session: &SessionHandle) -> Result<RunFacts, ClientError> {
        let view = session.view()?;
        let tasks = session.tasks(&TasksParams::all_tasks())?.tasks;
        let open_asks = session.open_asks()?;
        let fleet = session.latest_fleet()?;
        let root = tasks.iter().find(|task| task.parent.is_none());
        let is_at_work = |task: &&TaskView| task.parent.is_some() && !task.state.is_at_rest();
        let has_background = tasks.iter().any(|task| is_at_work(&task));
        let has_fleet = fleet == Some(LatestFleet::Unfinished) && view.owner_pid.is_some();
        let own = root.map_or(AgentStatus::Interrupted, |root| AgentStatus::of_task(root, !open_asks.is_empty()));
        let status = match own.is_at_rest() && (has_background || has_fleet) {
            true if !open_asks.is_empty() => AgentStatus::NeedsDecision,
            true => AgentStatus::Working,
            false => own.after_fleet(fleet),
        };
        let text = match (root.map(|root| latest_text(session, root)).transpose()?, &view.last_outcome) {
            (Some(text), _) if !text.is_empty() => text,
            (_, Some(TaskOutcome::Failed { message, .. })) if status.is_at_rest() => message.clone(),
            (_, _) => String::new(),
        };
        let report = AgentReport {
            session: view.id.to_string(),
            status,
            text,
            title: protocol::clip_middle(&view.title, MAX_TITLE_BYTES),
            folder: view.cwd.clone(),
            model: view.model.clone(),
            turns: view.turns,
            cost_usd: view.priced.then(|| dollars(view.spent.micros)),
            open_asks: u64::try_from(open_asks.len()).unwrap_or(u64::MAX),
            subagents: subagents(&tasks),
        };
        let has_work_left = !status.is_at_rest()
            || status == AgentStatus::Interrupted
            || fleet == Some(LatestFleet::Unfinished)
            || session.has_queued_commands()?;
        Ok(RunFacts { view, status, report, fleet, has_work_left })
    }

    /// Whether the run is not over, although no process works on it now: the session host resumes it, because it keeps
    /// the session. It also keeps one for a moment whose run is over.
    pub(super) fn will_resume(&self, home: &Home) -> bool {
        self.has_work_left && self.view.owner_pid.is_none() && home.is_held(self.view.id)
    }
}

/// The agents below the root.
fn subagents(tasks: &[TaskView]) -> Vec<SubagentReport> {
    let agents = tasks.iter().filter(|task| task.kind.is_subagent());
    let report = |task: &TaskView| SubagentReport {
        task: task.path.clone(),
        agent: task.agent.clone(),
        status: AgentStatus::of_task(task, false),
    };
    agents.take(MAX_SUBAGENTS).map(report).collect()
}

/// An agent's answer; while it works, what it said last.
pub(super) fn latest_text(session: &SessionHandle, task: &TaskView) -> Result<String, ClientError> {
    let text = match task.state.is_at_rest() {
        true => session.output(task),
        false => {
            let record = session.record(task.id)?;
            let turn = record.and_then(|record| record.turns.into_iter().rev().find_map(|turn| turn.text));
            turn.unwrap_or_default()
        }
    };
    Ok(protocol::clip_middle(&text, MAX_TEXT_BYTES))
}

/// The task of a session with this id, path or name.
pub(super) fn find_task<'a>(tasks: &'a [TaskView], wanted: &str) -> Option<(TaskId, &'a TaskView)> {
    let wanted = wanted.trim();
    let matches = |task: &&TaskView| task.path == wanted || task.id.to_string() == wanted || task.name == wanted;
    tasks.iter().find(matches).map(|task| (task.id, task))
}

/// The status of one task.
pub(super) fn task_status(task: &TaskView) -> AgentStatus {
    AgentStatus::of_task(task, false)
}

#[expect(clippy::cast_precision_loss, reason = "amounts are far below the limit of exact numbers")]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// An agent for models.
pub(super) fn agent_text(report: &AgentReport) -> String {
    let mut text = format!("session {}: {}", report.session, report.status.as_str());
    // Writing to a string cannot fail.
    if report.open_asks > 0 {
        let _written = write!(text, "; {} wait for a decision of the user: list_asks", report.open_asks);
    }
    if !report.subagents.is_empty() {
        let _written = write!(text, "; {} subagents", report.subagents.len());
    }
    if !report.text.is_empty() {
        let _written = write!(text, "\n\n{}", report.text);
    }
    text
}
