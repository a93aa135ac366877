//! A session's events in rows: the streaming answer, a row for each call, and problems.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use client::SessionMessage;
use protocol::{
    Ask, AskSubject, ContentBlock, Envelope, Event, FLEET_DEPLOYED, HiddenTasks, LimitKind, MailBody, MailId,
    ModelFault, Principal, TaskId, TaskOutcome, TaskType, ToolCallRequest, tool_name,
};

use super::call_history::{CallHistory, format_duration};
use super::markdown::MarkdownStream;
use super::text::{LinePrefix, StyledRow, StyledSpan, truncate, width, wrap};
use crate::countdown::Countdown;
use crate::escape::escape_invisible;
use crate::event_text;
use crate::live::{FleetBoard, FleetLines};
use crate::print;
use crate::style::{Style, TextRole};

/// A longer silence is explained in the status.
const LONG_SILENCE: Duration = Duration::from_secs(10);

/// The live events of a session.
#[derive(Debug)]
pub(super) struct ChatFeed {
    root: TaskId,
    markdown: MarkdownStream,
    /// The streamed text of the current turn.
    streamed: String,
    calls: CallHistory,
    /// Names of the tasks below the root.
    names: BTreeMap<TaskId, String>,
    /// Those of these tasks that are agents.
    agents: BTreeSet<TaskId>,
    /// Describes the session's fleet.
    fleet: FleetLines,
    hidden: HiddenTasks,
    /// Events up to this number happened before the conversation was attached.
    earlier_until: u64,
    /// Messages sent from here.
    own_mail: BTreeSet<MailId>,
    /// Reported pairs of a requested model and another one that answered.
    reported_model_pairs: BTreeSet<(String, String)>,
    /// The last failure of each task's model, until it answers.
    last_failures: BTreeMap<TaskId, String>,
    /// What the root waits for, and since when.
    root_wait: Option<(RootWait, Instant)>,
}

/// What the root waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootWait {
    /// A slot for the request.
    Queue,
    /// The first text of an answer.
    Answer,
    /// The next attempt.
    Retry(Countdown),
}

impl ChatFeed {
    pub(super) fn new(root: TaskId, style: Style) -> ChatFeed {
        ChatFeed {
            root,
            markdown: MarkdownStream::new(style),
            streamed: String::new(),
            calls: CallHistory::default(),
            names: BTreeMap::new(),
            agents: BTreeSet::new(),
            fleet: FleetLines::default(),
            hidden: HiddenTasks::default(),
            earlier_until: 0,
            own_mail: BTreeSet::new(),
            reported_model_pairs: BTreeSet::new(),
            last_failures: BTreeMap::new(),
            root_wait: None,
        }
    }

    /// Sets the last event that happened before the conversation was attached.
    pub(super) fn set_earlier_until(&mut self, seq: u64) {
        self.earlier_until = seq;
    }

    /// Records a message sent from here.
    pub(super) fn record_sent(&mut self, mail: MailId) {
        self.own_mail.insert(mail);
    }

    /// Restores earlier calls.
    pub(super) fn restore_calls(&mut self, calls: CallHistory) {
        self.calls = calls;
    }

    pub(super) fn into_calls(self) -> CallHistory {
        self.calls
    }

    pub(super) fn calls(&self) -> &CallHistory {
        &self.calls
    }

    /// Adds the state of the session's fleet before it was opened here.
    pub(super) fn add_earlier_fleet(&mut self, board: FleetBoard) {
        self.fleet = FleetLines::new(board);
    }

    /// Adds a task that started before the session was opened here.
    pub(super) fn add_earlier_task(&mut self, task: TaskId, kind: TaskType, name: &str) {
        if task == self.root {
            return;
        }
        self.names.insert(task, escape_invisible(name));
        if kind.is_subagent() {
            self.agents.insert(task);
        }
    }

    /// Adds a call that waited for a decision before the session was opened here.
    pub(super) fn add_earlier_ask(&mut self, task: TaskId, ask: &Ask) {
        let (tool, input) = match &ask.subject {
            AskSubject::Permission { tool, input, .. } => (tool.clone(), input.clone()),
            AskSubject::Question { question, .. } => {
                (tool_name::ASK_USER.into(), serde_json::json!({ "question": question }).to_string())
            }
            AskSubject::Plan { summary, .. } => {
                (tool_name::EXIT_PLAN_MODE.into(), serde_json::json!({ "summary": summary }).to_string())
            }
        };
        self.calls.add_requested(task, &ToolCallRequest { id: ask.call.clone(), tool, input });
    }

    /// The name of a task; empty for the root.
    pub(super) fn task_name(&self, task: TaskId) -> &str {
        self.names.get(&task).map_or("", String::as_str)
    }

    /// The text that is still incomplete.
    pub(super) fn incomplete_rows(&self, columns: usize) -> Vec<StyledRow> {
        self.markdown.incomplete_rows(columns)
    }

    /// Shows an earlier text.
    pub(super) fn replay_text(&mut self, text: &str, columns: usize) -> Vec<StyledRow> {
        let mut rows = self.push_text(text, columns);
        rows.extend(self.end_text(self.root, columns));
        rows
    }

    /// Ends the incomplete text and returns its rows.
    pub(super) fn finish_text(&mut self, columns: usize) -> Vec<StyledRow> {
        self.end_text(self.root, columns)
    }

    /// The current activity, in at most this many columns.
    pub(super) fn status(&self, now: Instant, columns: usize) -> String {
        if let Some((title, began, others)) = self.calls.longest_running() {
            let more = if others > 0 { format!(" and {others} more") } else { String::new() };
            let rest = format!("{more} {}", format_duration(now.duration_since(began)));
            return truncate(&title, columns.saturating_sub(width(&rest))) + &rest;
        }
        match self.root_wait {
            Some((RootWait::Queue, since)) if now.duration_since(since) >= LONG_SILENCE => {
                "queued: the provider asked to slow down or is overloaded".into()
            }
            Some((RootWait::Answer, since)) if now.duration_since(since) >= LONG_SILENCE => {
                format!("waiting for the model {}", format_duration(now.duration_since(since)))
            }
            Some((RootWait::Retry(countdown), _)) => countdown.describe(now),
            Some(_) | None => "working".into(),
        }
    }

    /// Returns the rows for a live message.
    pub(super) fn handle_message(&mut self, message: &SessionMessage, now: Instant, columns: usize) -> Vec<StyledRow> {
        match message {
            SessionMessage::Text { task, text, .. } if *task == self.root => self.push_text(text, columns),
            SessionMessage::Text { .. } | SessionMessage::Status(_) => Vec::new(),
            SessionMessage::Event(envelope) => {
                let (task, event) = (envelope.entry.task, &envelope.entry.event);
                if task == self.root {
                    self.track_wait(event, now);
                }
                let rows = match event {
                    Event::MailAdmitted { mail, from: Principal::User, body, .. } if task == self.root => {
                        self.message_rows(*mail, body, envelope.seq, columns)
                    }
                    event => self.event_rows(task, event, now, columns),
                };
                self.fleet_rows(envelope, columns).into_iter().chain(rows).collect()
            }
        }
    }

    fn fleet_rows(&mut self, envelope: &Envelope, columns: usize) -> Vec<StyledRow> {
        let lead = LinePrefix::hanging(StyledSpan::plain("  "));
        let row = |line: String| wrap(&[StyledSpan::new(TextRole::Dim, &escape_invisible(&line))], columns, &lead);
        self.fleet.apply(envelope).into_iter().flat_map(row).collect()
    }

    fn push_text(&mut self, text: &str, columns: usize) -> Vec<StyledRow> {
        self.root_wait = None;
        let first = self.streamed.is_empty() && !text.is_empty();
        self.streamed.push_str(text);
        let rows = self.markdown.push(text, columns);
        first.then(StyledRow::new).into_iter().chain(rows).collect()
    }

    fn event_rows(&mut self, task: TaskId, event: &Event, now: Instant, columns: usize) -> Vec<StyledRow> {
        if self.hidden.hides(task, event) {
            return Vec::new();
        }
        match event {
            Event::TurnAnswered { content, .. } => self.answer_rows(task, content, columns),
            Event::TurnFailed { fault, message, .. } => {
                let mut rows = self.end_text(task, columns);
                let previous = self.last_failures.insert(task, message.clone());
                // A failure that ends the activation is reported when it ends; the status counts the attempts.
                let is_reported_elsewhere =
                    matches!(fault, ModelFault::Auth | ModelFault::Terminal | ModelFault::Cancelled)
                        || previous.is_some_and(|previous| previous == *message);
                if !is_reported_elsewhere {
                    rows.extend(note_rows(event, columns));
                }
                rows
            }
            Event::CallStarted { call } => {
                self.calls.mark_started(task, call, now);
                Vec::new()
            }
            Event::CallAnswered { call, answer, .. } => {
                self.calls.mark_answered(task, call, answer, now);
                let name = self.task_name(task);
                let prefix = if name.is_empty() { String::new() } else { format!("{name}: ") };
                self.calls.answer_row(task, call, &prefix, columns).into_iter().collect()
            }
            Event::TaskCreated(spec) if spec.kind.is_subagent() => {
                self.names.insert(task, escape_invisible(&spec.name));
                self.agents.insert(task);
                let text = format!(
                    "{} ({}): {}",
                    escape_invisible(&spec.name),
                    escape_invisible(&spec.agent),
                    escape_invisible(&spec.description)
                );
                wrap(&[StyledSpan::new(TextRole::Dim, &text)], columns, &LinePrefix::hanging(StyledSpan::plain("+ ")))
            }
            Event::TaskCreated(spec) if spec.parent.is_some() => {
                self.names.insert(task, escape_invisible(&spec.name));
                Vec::new()
            }
            Event::ActivationEnded { outcome, .. } if self.agents.contains(&task) => {
                let text = format!("{}: {}{}", self.task_name(task), outcome.as_str(), failure_suffix(outcome));
                wrap(&[StyledSpan::plain(&text)], columns, &LinePrefix::hanging(StyledSpan::plain("• ")))
            }
            Event::TaskFinished { outcome } if task != self.root && !self.agents.contains(&task) => {
                let text = format!("{} in the background: {}", self.task_name(task), outcome.as_str());
                wrap(&[StyledSpan::plain(&text)], columns, &LinePrefix::hanging(StyledSpan::plain("• ")))
            }
            Event::ActivationEnded { outcome, .. } if task == self.root => {
                let mut rows = self.end_text(task, columns);
                rows.extend(end_rows(outcome, columns));
                rows
            }
            Event::ModelDiffered { asked, answered, .. }
                if !self.reported_model_pairs.insert((asked.clone(), answered.clone())) =>
            {
                Vec::new()
            }
            Event::AutopilotStopped { why, continues } => {
                let text = escape_invisible(&event_text::describe_autopilot_stop(why, *continues));
                wrap(&[StyledSpan::new(TextRole::Dim, &text)], columns, &LinePrefix::hanging(StyledSpan::plain("  ")))
            }
            // The prompt shows the ask, and the user knows the decision.
            Event::AskDecided { .. } | Event::AskOpened(_) => Vec::new(),
            other => note_rows(other, columns),
        }
    }

    /// Shows a message of the user to the root, unless it was typed here.
    fn message_rows(&mut self, mail: MailId, body: &MailBody, seq: u64, columns: usize) -> Vec<StyledRow> {
        let text = body.display_text().filter(|_| !self.own_mail.remove(&mail) && !asks_for_plan(body));
        let Some(text) = text else { return Vec::new() };
        let text = [StyledSpan::plain(&escape_invisible(text))];
        if seq <= self.earlier_until {
            let lead = LinePrefix::hanging(StyledSpan::new(TextRole::Accent, "> "));
            return std::iter::once(StyledRow::new()).chain(wrap(&text, columns, &lead)).collect();
        }
        let lead = LinePrefix::hanging(StyledSpan::new(TextRole::Accent, "> (from another terminal) "));
        wrap(&text, columns, &lead)
    }

    /// Shows the rest of the stored answer; the streamed text may be incomplete.
    fn answer_rows(&mut self, task: TaskId, content: &[ContentBlock], columns: usize) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        self.last_failures.remove(&task);
        if task == self.root {
            let whole: String = content.iter().filter_map(block_text).collect();
            let rest = match whole.strip_prefix(self.streamed.as_str()) {
                Some(rest) => rest.to_owned(),
                None => {
                    rows.extend(self.end_text(task, columns));
                    rows.push(vec![StyledSpan::new(TextRole::Dim, "(part of the answer was not shown; in full:)")]);
                    whole
                }
            };
            rows.extend(self.push_text(&rest, columns));
            rows.extend(self.end_text(task, columns));
        }
        for block in content {
            if let ContentBlock::Call(call) = block {
                self.calls.add_requested(task, call);
            }
        }
        rows
    }

    fn end_text(&mut self, task: TaskId, columns: usize) -> Vec<StyledRow> {
        if task != self.root {
            return Vec::new();
        }
        self.streamed.clear();
        self.markdown.finish(columns)
    }

    fn track_wait(&mut self, event: &Event, now: Instant) {
        self.root_wait = match event {
            Event::TurnFailed { retry: Some(retry), .. } => Some((RootWait::Retry(Countdown::new(*retry, now)), now)),
            Event::ActivationStarted { .. } | Event::TurnFailed { .. } | Event::CallAnswered { .. } => {
                Some((RootWait::Queue, now))
            }
            Event::TurnBegun { .. } => Some((RootWait::Answer, now)),
            Event::TurnAnswered { .. }
            | Event::CallStarted { .. }
            | Event::TaskParked { .. }
            | Event::ActivationEnded { .. } => None,
            _other => self.root_wait,
        };
    }
}

/// Whether a message is a fleet's request for a plan; the start of the fleet was already shown.
fn asks_for_plan(body: &MailBody) -> bool {
    matches!(body, MailBody::Text { display: Some(shown), .. } if shown.starts_with(FLEET_DEPLOYED))
}

fn block_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text { text } => Some(text),
        ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
    }
}

/// Shows an event with the same text as `bosun -p`.
fn note_rows(event: &Event, columns: usize) -> Vec<StyledRow> {
    let lead = LinePrefix::hanging(StyledSpan::plain("  "));
    let rows = |line: String| wrap(&[StyledSpan::new(TextRole::Bad, line.trim())], columns, &lead);
    event_text::event_lines(event).into_iter().flat_map(rows).collect()
}

/// The reason of a failure, to follow the outcome.
fn failure_suffix(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Failed { message, .. } => format!(": {}", escape_invisible(&print::format_reason(message, 160))),
        TaskOutcome::Completed
        | TaskOutcome::Cancelled { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => String::new(),
    }
}

/// Shows how an activation ended without an answer.
fn end_rows(outcome: &TaskOutcome, columns: usize) -> Vec<StyledRow> {
    let text = match outcome {
        TaskOutcome::Completed => return Vec::new(),
        TaskOutcome::Failed { message, .. } => escape_invisible(&protocol::strip_quote_marks(message)),
        TaskOutcome::Cancelled { .. } => "stopped; what was done is kept".into(),
        TaskOutcome::TimedOut { limit: LimitKind::Turns } => "the turn limit was reached before the answer".into(),
        TaskOutcome::TimedOut { limit: LimitKind::Time } => "the time limit was reached before the answer".into(),
        TaskOutcome::BudgetExhausted => "the budget does not allow another request".into(),
        TaskOutcome::Lost => "the run was lost".into(),
    };
    wrap(&[StyledSpan::new(TextRole::Bad, &text)], columns, &LinePrefix::hanging(StyledSpan::new(TextRole::Bad, "! ")))
}

#[cfg(test)]
mod tests {
    use protocol::{Activation, AskDecision, AskId, CallId, Cost, DecidedBy, ToolResult, ToolResultStatus, Turn};

    use super::*;

    fn rows(feed: &mut ChatFeed, event: &Event) -> usize {
        feed.event_rows(feed.root, event, Instant::now(), 80).len()
    }

    #[test]
    fn feed_has_no_rows_for_asks() {
        let mut feed = ChatFeed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let subject = AskSubject::Question { question: "Which?".into(), choices: Vec::new() };
        let (id, call) = (AskId("3f9a".into()), CallId("1".into()));
        let asked = Event::AskOpened(Ask { id: id.clone(), call: call.clone(), subject, until_at: None });
        let decision = AskDecision::Reply { text: "red".into() };
        let decided = Event::AskDecided { ask: id, call, decision, by: DecidedBy::User };
        assert_eq!([asked, decided].map(|event| rows(&mut feed, &event)), [0, 0]);
    }

    #[test]
    fn earlier_agents_are_shown_by_name() {
        let root = TaskId::new(uuid::Uuid::nil());
        let (mut feed, agent) = (ChatFeed::new(root, Style::Plain), TaskId::new(uuid::Uuid::max()));
        let ended =
            Event::ActivationEnded { activation: Activation(1), outcome: TaskOutcome::Completed, text: String::new() };
        assert_eq!(feed.event_rows(agent, &ended, Instant::now(), 80).len(), 0);
        feed.add_earlier_task(root, TaskType::Main, "root");
        feed.add_earlier_task(agent, TaskType::Agent, "tests");
        assert_eq!((feed.task_name(root), feed.task_name(agent)), ("", "tests"));
        assert_eq!(feed.event_rows(agent, &ended, Instant::now(), 80).len(), 1);
    }

    #[test]
    fn earlier_waiting_call_gets_a_row_when_answered() {
        let mut feed = ChatFeed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let call = CallId("1".into());
        let answer = ToolResult { status: ToolResultStatus::Done, text: String::new() };
        let answered = Event::CallAnswered { call: call.clone(), answer, evidence: Vec::new() };
        assert_eq!(rows(&mut feed, &answered), 0);
        let (tool, input) = ("shell".into(), r#"{"command":"ls"}"#.into());
        let subject = AskSubject::Permission { tool, input, reason: "r".into(), rules: Vec::new() };
        feed.add_earlier_ask(feed.root, &Ask { id: AskId("3f9a".into()), call, subject, until_at: None });
        assert_eq!(rows(&mut feed, &answered), 1);
    }

    #[test]
    fn the_time_to_the_next_attempt_is_counted_down() {
        let mut feed = ChatFeed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let (began, message) = (Instant::now(), "connection refused".into());
        let retry = Some(protocol::RetryPlan { attempt: 2, of: 5, in_millis: 4_000 });
        let failed =
            Event::TurnFailed { turn: Turn(1), fault: ModelFault::Unreachable, message, cost: Cost::ZERO, retry };
        feed.track_wait(&failed, began);
        let shown =
            [0, 1_000, 3_001, 4_000, 9_000].map(|millis| feed.status(began + Duration::from_millis(millis), 80));
        let next = |seconds: u64| format!("attempt 2 of 5, next in {seconds} s");
        assert_eq!(shown, [next(4), next(3), next(1), "attempt 2 of 5".into(), "attempt 2 of 5".into()]);
    }

    #[test]
    fn repeated_failure_is_shown_once() {
        let mut feed = ChatFeed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let failed = |retry| {
            let message = "connection refused".into();
            Event::TurnFailed { turn: Turn(1), fault: ModelFault::Transient, message, cost: Cost::ZERO, retry }
        };
        let again = failed(Some(protocol::RetryPlan { attempt: 2, of: 5, in_millis: 4_000 }));
        assert_eq!([&again, &again, &failed(None)].map(|event| rows(&mut feed, event)), [1, 0, 0]);
    }
}
