//! What a session does, and why it is silent.

use std::collections::BTreeMap;

use client::{SessionHandle, SessionTaskList, StoreError};
use protocol::api::{AskView, TaskView};
use protocol::{
    AskSubject, CallId, ContentBlock, Envelope, Event, TaskId, TaskOutcome, TaskState, ToolCallRequest, ToolGroup,
    find_tool, tool_name,
};
use serde::Serialize;
use tui::print;

/// The most recent events that are read to find out what an agent does.
const MAX_EVENTS: u64 = 400;

/// The most agents that are named.
const MAX_NAMED_AGENTS: usize = 3;

/// The longest description of an activity.
const MAX_CHARS: usize = 80;

/// What the user can expect of a session, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum AgentState {
    /// It waits for a decision of the user.
    NeedsYou,
    /// It works.
    Working,
    /// It waits for its provider or for the next day's budget.
    Waiting,
    /// A process runs it, and it waits for a message.
    Idle,
    /// The process that ran it is gone.
    Interrupted,
    /// Its last work failed, or reached a limit.
    Failed,
    /// Its last work was stopped.
    Stopped,
    /// Its last work is done.
    Done,
}

impl AgentState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            AgentState::NeedsYou => "needs you",
            AgentState::Working => "working",
            AgentState::Waiting => "waiting",
            AgentState::Idle => "idle",
            AgentState::Interrupted => "interrupted",
            AgentState::Failed => "failed",
            AgentState::Stopped => "stopped",
            AgentState::Done => "done",
        }
    }
}

/// The state of a session, with a reason for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentActivity {
    pub(super) state: AgentState,
    pub(super) reason: String,
}

/// Finds out what a session does.
pub(super) fn activity(handle: &SessionHandle, list: &SessionTaskList) -> Result<AgentActivity, StoreError> {
    let session = &list.session;
    let of = |state, reason: String| AgentActivity { state, reason };
    if let (Some(ask), Some(_)) = (list.open_asks.first(), session.owner_pid) {
        return Ok(of(AgentState::NeedsYou, describe_ask(ask)));
    }
    Ok(match &session.state {
        TaskState::Queued => of(AgentState::Working, "waits for a free slot".into()),
        TaskState::Running => of(AgentState::Working, working_reason(handle, list)?),
        TaskState::Parked { until_at, why } => {
            let until = until_at.map(|at| format!(", until {at}")).unwrap_or_default();
            of(AgentState::Waiting, format!("waits for {}{until}", why.describe()))
        }
        TaskState::Interrupted => of(AgentState::Interrupted, "no process runs it".into()),
        TaskState::Idle if session.owner_pid.is_some() => of(AgentState::Idle, "waits for a message".into()),
        TaskState::Idle => of_outcome(session.last_outcome.as_ref()),
        TaskState::Finished { outcome } => of_outcome(Some(outcome)),
    })
}

/// The state of a session at rest.
fn of_outcome(outcome: Option<&TaskOutcome>) -> AgentActivity {
    let (state, reason) = match outcome {
        None => (AgentState::Done, "nothing was asked of it".to_owned()),
        Some(TaskOutcome::Completed) => (AgentState::Done, String::new()),
        Some(TaskOutcome::Cancelled { .. }) => (AgentState::Stopped, String::new()),
        Some(TaskOutcome::Failed { message, .. }) => (AgentState::Failed, print::format_reason(message, MAX_CHARS)),
        Some(outcome @ (TaskOutcome::TimedOut { .. } | TaskOutcome::BudgetExhausted | TaskOutcome::Lost)) => {
            (AgentState::Failed, outcome.as_str().replace('_', " "))
        }
    };
    AgentActivity { state, reason }
}

fn describe_ask(ask: &AskView) -> String {
    let (what, text) = match &ask.ask.subject {
        AskSubject::Permission { tool, input, .. } => ("asks to run", describe_call(tool, input)),
        AskSubject::Question { question, .. } => ("asks", question.clone()),
        AskSubject::Plan { summary, .. } => ("has a plan", summary.clone()),
    };
    let who = match ask.path.strip_prefix("/root/") {
        Some(path) => format!("{path} "),
        None => String::new(),
    };
    clipped(&format!("{who}{what}: {text}"))
}

/// Why an agent that runs says nothing at the moment.
fn working_reason(handle: &SessionHandle, list: &SessionTaskList) -> Result<String, StoreError> {
    let is_working = |task: &&TaskView| task.state == TaskState::Running;
    let root = list.tasks.iter().find(|task| task.parent.is_none()).filter(is_working);
    let below = list.tasks.iter().filter(|task| task.parent.is_some()).filter(is_working);
    let below: Vec<&str> = below.map(|task| task.path.trim_start_matches("/root/")).collect();
    let Some(root) = root else { return Ok(clipped(&format!("works in the background: {}", names(&below)))) };
    let first = list.session.events.saturating_sub(MAX_EVENTS);
    let events = handle.events_after(first, usize::try_from(MAX_EVENTS).unwrap_or(usize::MAX))?;
    let silence = root.stalled_since_at.map(|at| format!("no sign of life since {at}; "));
    let reason = match RecentWork::of(&events, root.id) {
        RecentWork::Calls(calls) if !below.is_empty() && calls.iter().any(|call| waits_for_agents(&call.tool)) => {
            format!("waits for {}", names(&below))
        }
        RecentWork::Calls(calls) => match &calls[..] {
            [] => root.intent.clone().unwrap_or_default(),
            [call] => format!("runs {}", describe_call(&call.tool, &call.input)),
            [call, others @ ..] => format!("runs {} and {} more", describe_call(&call.tool, &call.input), others.len()),
        },
        RecentWork::Model => "waits for its model".to_owned(),
        RecentWork::Retry(message) => format!("asks its model again: {message}"),
        RecentWork::Unknown => root.intent.clone().unwrap_or_default(),
    };
    Ok(clipped(&format!("{}{reason}", silence.unwrap_or_default())))
}

/// What an agent did last.
#[derive(Debug, Clone, PartialEq)]
enum RecentWork {
    /// These calls run.
    Calls(Vec<ToolCallRequest>),
    /// Its model has not answered.
    Model,
    /// Its model failed, and is asked again.
    Retry(String),
    /// The events do not say.
    Unknown,
}

impl RecentWork {
    fn of(events: &[Envelope], task: TaskId) -> RecentWork {
        let mut requested: BTreeMap<CallId, ToolCallRequest> = BTreeMap::new();
        let mut work = RecentWork::Unknown;
        for event in events.iter().filter(|envelope| envelope.entry.task == task).map(|envelope| &envelope.entry.event)
        {
            match event {
                Event::TurnBegun { .. } => work = RecentWork::Model,
                Event::TurnFailed { message, .. } => work = RecentWork::Retry(message.clone()),
                Event::TurnAnswered { content, .. } => {
                    work = RecentWork::Calls(Vec::new());
                    requested.extend(content.iter().filter_map(|block| match block {
                        ContentBlock::Call(call) => Some((call.id.clone(), call.clone())),
                        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
                    }));
                }
                Event::CallStarted { call } => {
                    if let (RecentWork::Calls(running), Some(started)) = (&mut work, requested.get(call)) {
                        running.push(started.clone());
                    }
                }
                Event::CallAnswered { call, .. } => {
                    if let RecentWork::Calls(running) = &mut work {
                        running.retain(|started| started.id != *call);
                    }
                }
                _other => {}
            }
        }
        work
    }
}

/// Whether a call of this tool may wait for other agents.
fn waits_for_agents(tool: &str) -> bool {
    find_tool(tool).is_some_and(|tool| matches!(tool.group, ToolGroup::Task | ToolGroup::Subagent))
}

/// A call in few words: a shell call is its command.
fn describe_call(tool: &str, input: &str) -> String {
    let command = || -> Option<String> {
        let input: serde_json::Value = serde_json::from_str(input).ok()?;
        Some(format!("`{}`", input.get("command")?.as_str()?))
    };
    command().filter(|_| tool == tool_name::SHELL).unwrap_or_else(|| tool.to_owned())
}

fn names(paths: &[&str]) -> String {
    let more = paths.len().saturating_sub(MAX_NAMED_AGENTS);
    let named = paths.iter().take(MAX_NAMED_AGENTS).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

fn clipped(text: &str) -> String {
    print::sanitize(&print::one_line(text, MAX_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_up_to_a_limit() {
        assert_eq!(names(&["a", "b"]), "a, b");
        assert_eq!(names(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }

    #[test]
    fn a_shell_call_is_described_by_its_command() {
        assert_eq!(describe_call("shell", r#"{"command":"cargo test"}"#), "`cargo test`");
        assert_eq!(describe_call("shell", "not JSON"), "shell");
        assert_eq!(describe_call("grep", r#"{"command":"x"}"#), "grep");
    }

    fn work_after(events: &[serde_json::Value]) -> RecentWork {
        let session = protocol::SessionId::new(uuid::Uuid::nil());
        let task = TaskId::new(uuid::Uuid::nil());
        let envelope = |(n, event): (usize, &serde_json::Value)| {
            let mut json = serde_json::json!({ "v": 1, "seq": n + 1, "session": session, "task": task, "at": 1 });
            json.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
            serde_json::from_value::<Envelope>(json).unwrap()
        };
        RecentWork::of(&events.iter().enumerate().map(envelope).collect::<Vec<_>>(), task)
    }

    #[test]
    fn the_latest_events_say_what_an_agent_does() {
        let cost = serde_json::json!({ "tokens": 0, "micros": 0 });
        let begun = serde_json::json!({ "type": "turnBegun", "turn": 1, "model": "m", "reserved": cost });
        let call = serde_json::json!({ "type": "call", "id": "c", "tool": "shell", "input": "{}" });
        let usage = serde_json::json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
        let answered = serde_json::json!({
            "type": "turnAnswered", "turn": 1, "content": [call], "stop": "calls", "usage": usage, "cost": cost, "model": "m",
        });
        let failed = serde_json::json!({
            "type": "turnFailed", "turn": 1, "fault": { "type": "overloaded" }, "message": "busy", "cost": cost,
        });
        let started = serde_json::json!({ "type": "callStarted", "call": "c" });
        let done =
            serde_json::json!({ "type": "callAnswered", "call": "c", "answer": { "status": "done", "text": "" } });
        assert_eq!(work_after(&[]), RecentWork::Unknown);
        assert_eq!(work_after(std::slice::from_ref(&begun)), RecentWork::Model);
        assert_eq!(work_after(&[begun.clone(), failed]), RecentWork::Retry("busy".into()));
        let RecentWork::Calls(calls) = work_after(&[begun.clone(), answered.clone(), started.clone()]) else {
            panic!("a call runs")
        };
        assert_eq!(calls.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["shell"]);
        assert_eq!(work_after(&[begun, answered, started, done]), RecentWork::Calls(Vec::new()));
    }

    #[test]
    fn an_outcome_decides_the_state_of_a_session_at_rest() {
        assert_eq!(of_outcome(Some(&TaskOutcome::Completed)).state, AgentState::Done);
        let exhausted = of_outcome(Some(&TaskOutcome::BudgetExhausted));
        assert_eq!(exhausted, AgentActivity { state: AgentState::Failed, reason: "budget exhausted".into() });
    }
}
