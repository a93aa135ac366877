//! What a person sees of a session's events: the answer as it streams, a row for each call, and what goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use protocol::{Ask, Block, Call, Event, Kind, Limit, MailId, ModelFault, Origin, Outcome, Subject, TaskId};
use runtime::Live;

use super::calls::{Calls, short};
use super::markdown::Markdown;
use super::text::{Lead, Row, Span, fit, width, wrap};
use crate::exact::exact;
use crate::print;
use crate::run::{Countdown, show};
use crate::style::{Role, Style};

/// A silence that is longer than this is explained.
const LONG: Duration = Duration::from_secs(10);

/// A session as it goes on.
#[derive(Debug)]
pub(super) struct Feed {
    root: TaskId,
    markdown: Markdown,
    /// What was streamed of the turn that goes on.
    streamed: String,
    calls: Calls,
    /// Names of the tasks below the root.
    names: BTreeMap<TaskId, String>,
    /// Which of them are agents.
    agents: BTreeSet<TaskId>,
    /// Messages that were typed here.
    own: BTreeSet<MailId>,
    /// Pairs of the model that was asked and another that answered, which were told.
    differed: BTreeSet<(String, String)>,
    /// What each task's model failed with last, until it answers.
    failing: BTreeMap<TaskId, String>,
    waiting: Option<(Waiting, Instant)>,
}

/// What the root waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// The right to ask.
    Line,
    /// The first word of an answer.
    Answer,
    /// The moment of the next attempt.
    Retry(Countdown),
}

impl Feed {
    pub(super) fn new(root: TaskId, style: Style) -> Feed {
        Feed {
            root,
            markdown: Markdown::new(style),
            streamed: String::new(),
            calls: Calls::default(),
            names: BTreeMap::new(),
            agents: BTreeSet::new(),
            own: BTreeSet::new(),
            differed: BTreeSet::new(),
            failing: BTreeMap::new(),
            waiting: None,
        }
    }

    /// Takes note of a message that was typed here.
    pub(super) fn sent(&mut self, mail: Option<MailId>) {
        self.own.extend(mail);
    }

    /// Takes over the calls that were seen before.
    pub(super) fn keep(&mut self, calls: Calls) {
        self.calls = calls;
    }

    pub(super) fn into_calls(self) -> Calls {
        self.calls
    }

    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Takes note of a task that was started before the session was opened here.
    pub(super) fn started_before(&mut self, task: TaskId, kind: Kind, name: &str) {
        if task == self.root {
            return;
        }
        self.names.insert(task, exact(name));
        if kind == Kind::Agent {
            self.agents.insert(task);
        }
    }

    /// Takes note of a call that waits since before the session was opened here.
    pub(super) fn asked_before(&mut self, task: TaskId, ask: &Ask) {
        let (tool, input) = match &ask.subject {
            Subject::Permission { tool, input, .. } => (tool.clone(), input.clone()),
            Subject::Question { question, .. } => {
                ("ask_user".into(), serde_json::json!({ "question": question }).to_string())
            }
            Subject::Plan { summary, .. } => {
                ("exit_plan_mode".into(), serde_json::json!({ "summary": summary }).to_string())
            }
        };
        self.calls.asked(task, &Call { id: ask.call.clone(), tool, input });
    }

    /// The name of a task, unless it is the root.
    pub(super) fn whose(&self, task: TaskId) -> &str {
        self.names.get(&task).map_or("", String::as_str)
    }

    /// The text that still grows.
    pub(super) fn tail(&self, columns: usize) -> Vec<Row> {
        self.markdown.tail(columns)
    }

    /// A text that was said before.
    pub(super) fn again(&mut self, text: &str, columns: usize) -> Vec<Row> {
        let mut rows = self.text(text, columns);
        rows.extend(self.end_of_text(self.root, columns));
        rows
    }

    /// The text that still grows, as if it had ended.
    pub(super) fn rest(&mut self, columns: usize) -> Vec<Row> {
        self.end_of_text(self.root, columns)
    }

    /// What goes on just now, in a few words that fit.
    pub(super) fn status(&self, now: Instant, columns: usize) -> String {
        if let Some((title, began, others)) = self.calls.running() {
            let more = if others > 0 { format!(" and {others} more") } else { String::new() };
            let rest = format!("{more} {}", short(now.duration_since(began)));
            return fit(&title, columns.saturating_sub(width(&rest))) + &rest;
        }
        match self.waiting {
            Some((Waiting::Line, since)) if now.duration_since(since) >= LONG => {
                "queued: the provider asked to slow down or is overloaded".into()
            }
            Some((Waiting::Answer, since)) if now.duration_since(since) >= LONG => {
                format!("waiting for the model {}", short(now.duration_since(since)))
            }
            Some((Waiting::Retry(countdown), _)) => countdown.words(now),
            Some(_) | None => "working".into(),
        }
    }

    /// The rows that something is worth.
    pub(super) fn live(&mut self, live: &Live, now: Instant, columns: usize) -> Vec<Row> {
        match live {
            Live::Text { task, text, .. } if *task == self.root => self.text(text, columns),
            Live::Text { .. } => Vec::new(),
            Live::Event(envelope) => {
                let (task, event) = (envelope.entry.task, &envelope.entry.event);
                if task == self.root {
                    self.listen(event, now);
                }
                self.event(task, event, now, columns)
            }
        }
    }

    fn text(&mut self, text: &str, columns: usize) -> Vec<Row> {
        self.waiting = None;
        let first = self.streamed.is_empty() && !text.is_empty();
        self.streamed.push_str(text);
        let rows = self.markdown.push(text, columns);
        first.then(Row::new).into_iter().chain(rows).collect()
    }

    fn event(&mut self, task: TaskId, event: &Event, now: Instant, columns: usize) -> Vec<Row> {
        match event {
            Event::TurnAnswered { content, .. } => self.answered(task, content, columns),
            Event::TurnFailed { fault, message, retry, .. } => {
                let mut rows = self.end_of_text(task, columns);
                let before = self.failing.insert(task, message.clone());
                // What ends the activation is told when it has ended.
                let told = matches!(fault, ModelFault::Auth | ModelFault::Terminal | ModelFault::Cancelled)
                    || (retry.is_none() && before.is_some_and(|before| before == *message));
                if !told {
                    rows.extend(notes(event, columns));
                }
                rows
            }
            Event::CallStarted { call } => {
                self.calls.begun(task, call, now);
                Vec::new()
            }
            Event::CallAnswered { call, answer, .. } => {
                self.calls.answered(task, call, answer, now);
                let whose = self.whose(task);
                let whose = if whose.is_empty() { String::new() } else { format!("{whose}: ") };
                self.calls.row(task, call, &whose, columns).into_iter().collect()
            }
            Event::TaskCreated(spec) if spec.kind == Kind::Agent => {
                self.names.insert(task, exact(&spec.name));
                self.agents.insert(task);
                let words = format!("{} ({}): {}", exact(&spec.name), exact(&spec.agent), exact(&spec.description));
                wrap(&[Span::new(Role::Dim, &words)], columns, &Lead::hanging(Span::plain("+ ")))
            }
            Event::TaskCreated(spec) if spec.parent.is_some() => {
                self.names.insert(task, exact(&spec.name));
                Vec::new()
            }
            Event::ActivationEnded { outcome, .. } if self.agents.contains(&task) => {
                let words = format!("{}: {}{}", self.whose(task), outcome.word(), why(outcome));
                wrap(&[Span::plain(&words)], columns, &Lead::hanging(Span::plain("• ")))
            }
            Event::TaskFinished { outcome } if task != self.root && !self.agents.contains(&task) => {
                let words = format!("{} in the background: {}", self.whose(task), outcome.word());
                wrap(&[Span::plain(&words)], columns, &Lead::hanging(Span::plain("• ")))
            }
            Event::MailAdmitted { mail, from: Origin::User, body, .. }
                if task == self.root
                    && !self.own.remove(mail)
                    && let Some(text) = body.shown() =>
            {
                let lead = Lead::hanging(Span::new(Role::Accent, "> (from another terminal) "));
                wrap(&[Span::plain(&exact(text))], columns, &lead)
            }
            Event::ActivationEnded { outcome, .. } if task == self.root => {
                let mut rows = self.end_of_text(task, columns);
                rows.extend(ended(outcome, columns));
                rows
            }
            Event::ModelDiffered { asked, answered, .. }
                if !self.differed.insert((asked.clone(), answered.clone())) =>
            {
                Vec::new()
            }
            Event::AutopilotStopped { why, continues } => {
                let words = exact(&show::landed(why, *continues));
                wrap(&[Span::new(Role::Dim, &words)], columns, &Lead::hanging(Span::plain("  ")))
            }
            // What waits is shown whole where it is decided, and the decision is the person's own; what it begins is not.
            Event::AskDecided { decision, .. } => show::announced(decision)
                .map(|words| {
                    wrap(&[Span::new(Role::Dim, words.trim_start())], columns, &Lead::hanging(Span::plain("  ")))
                })
                .unwrap_or_default(),
            Event::Asked(_) => Vec::new(),
            other => notes(other, columns),
        }
    }

    /// The durable answer holds everything; what was streamed may lack some.
    fn answered(&mut self, task: TaskId, content: &[Block], columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        self.failing.remove(&task);
        if task == self.root {
            let whole: String = content.iter().filter_map(said).collect();
            let rest = match whole.strip_prefix(self.streamed.as_str()) {
                Some(rest) => rest.to_owned(),
                None => {
                    rows.extend(self.end_of_text(task, columns));
                    rows.push(vec![Span::new(Role::Dim, "(some of the answer was not shown; all of it:)")]);
                    whole
                }
            };
            rows.extend(self.text(&rest, columns));
            rows.extend(self.end_of_text(task, columns));
        }
        for block in content {
            if let Block::Call(call) = block {
                self.calls.asked(task, call);
            }
        }
        rows
    }

    fn end_of_text(&mut self, task: TaskId, columns: usize) -> Vec<Row> {
        if task != self.root {
            return Vec::new();
        }
        self.streamed.clear();
        self.markdown.finish(columns)
    }

    fn listen(&mut self, event: &Event, now: Instant) {
        self.waiting = match event {
            Event::TurnFailed { retry: Some(retry), .. } => Some((Waiting::Retry(Countdown::new(*retry, now)), now)),
            Event::ActivationStarted { .. } | Event::TurnFailed { .. } | Event::CallAnswered { .. } => {
                Some((Waiting::Line, now))
            }
            Event::TurnBegun { .. } => Some((Waiting::Answer, now)),
            Event::TurnAnswered { .. }
            | Event::CallStarted { .. }
            | Event::TaskParked { .. }
            | Event::ActivationEnded { .. } => None,
            _other => self.waiting,
        };
    }
}

fn said(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        Block::Thinking { .. } | Block::Call(_) | Block::Opaque { .. } => None,
    }
}

/// What other runs of a session are told in the same words.
fn notes(event: &Event, columns: usize) -> Vec<Row> {
    let lead = Lead::hanging(Span::plain("  "));
    let rows = |line: String| wrap(&[Span::new(Role::Bad, line.trim())], columns, &lead);
    show::lines(event).into_iter().flat_map(rows).collect()
}

/// Why an agent failed, after the word for it.
fn why(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { message, .. } => format!(": {}", exact(&print::one_line(message, 160))),
        Outcome::Completed
        | Outcome::Cancelled { .. }
        | Outcome::TimedOut { .. }
        | Outcome::BudgetExhausted
        | Outcome::Lost => String::new(),
    }
}

/// How an activation ended, when that was not with an answer.
fn ended(outcome: &Outcome, columns: usize) -> Vec<Row> {
    let words = match outcome {
        Outcome::Completed => return Vec::new(),
        Outcome::Failed { message, .. } => exact(message),
        Outcome::Cancelled { .. } => "stopped; what was done is kept".into(),
        Outcome::TimedOut { limit: Limit::Turns } => "the limit of turns was reached before the answer".into(),
        Outcome::TimedOut { limit: Limit::Time } => "the time was up before the answer".into(),
        Outcome::BudgetExhausted => "the budget does not allow another question".into(),
        Outcome::Lost => "the run was lost".into(),
    };
    wrap(&[Span::new(Role::Bad, &words)], columns, &Lead::hanging(Span::new(Role::Bad, "! ")))
}

#[cfg(test)]
mod tests {
    use protocol::{Activation, Answer, AnswerStatus, AskId, CallId, Cost, DecidedBy, Decision, Turn};

    use super::*;

    fn rows(feed: &mut Feed, event: &Event) -> usize {
        feed.event(feed.root, event, Instant::now(), 80).len()
    }

    #[test]
    fn an_ask_is_left_to_where_it_is_decided() {
        let mut feed = Feed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let subject = Subject::Question { question: "Which?".into(), choices: Vec::new() };
        let (id, call) = (AskId("3f9a".into()), CallId("1".into()));
        let asked = Event::Asked(Ask { id: id.clone(), call: call.clone(), subject, until_at: None });
        let decision = Decision::Reply { text: "red".into() };
        let decided = Event::AskDecided { ask: id, call, decision, by: DecidedBy::User };
        assert_eq!([asked, decided].map(|event| rows(&mut feed, &event)), [0, 0]);
    }

    #[test]
    fn an_agent_that_was_started_before_goes_by_its_name() {
        let root = TaskId::new(uuid::Uuid::nil());
        let (mut feed, agent) = (Feed::new(root, Style::Plain), TaskId::new(uuid::Uuid::max()));
        let ended =
            Event::ActivationEnded { activation: Activation(1), outcome: Outcome::Completed, text: String::new() };
        assert_eq!(feed.event(agent, &ended, Instant::now(), 80).len(), 0);
        feed.started_before(root, Kind::Main, "root");
        feed.started_before(agent, Kind::Agent, "tests");
        assert_eq!((feed.whose(root), feed.whose(agent)), ("", "tests"));
        assert_eq!(feed.event(agent, &ended, Instant::now(), 80).len(), 1);
    }

    #[test]
    fn a_call_that_waited_before_has_its_row_when_it_is_answered() {
        let mut feed = Feed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let call = CallId("1".into());
        let answer = Answer { status: AnswerStatus::Done, text: String::new() };
        let answered = Event::CallAnswered { call: call.clone(), answer, evidence: Vec::new() };
        assert_eq!(rows(&mut feed, &answered), 0);
        let (tool, input) = ("shell".into(), r#"{"command":"ls"}"#.into());
        let subject = Subject::Permission { tool, input, reason: "r".into(), rules: Vec::new() };
        feed.asked_before(feed.root, &Ask { id: AskId("3f9a".into()), call, subject, until_at: None });
        assert_eq!(rows(&mut feed, &answered), 1);
    }

    /// B4.
    #[test]
    fn the_time_to_the_next_attempt_is_counted_down() {
        let mut feed = Feed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let (began, message) = (Instant::now(), "connection refused".into());
        let retry = Some(protocol::Retry { attempt: 2, of: 5, in_millis: 4_000 });
        let failed =
            Event::TurnFailed { turn: Turn(1), fault: ModelFault::Unreachable, message, cost: Cost::ZERO, retry };
        feed.listen(&failed, began);
        let shown =
            [0, 1_000, 3_001, 4_000, 9_000].map(|millis| feed.status(began + Duration::from_millis(millis), 80));
        let next = |seconds: u64| format!("attempt 2 of 5, next in {seconds} s");
        assert_eq!(shown, [next(4), next(3), next(1), "attempt 2 of 5".into(), "attempt 2 of 5".into()]);
    }

    #[test]
    fn a_failure_that_repeats_is_told_once() {
        let mut feed = Feed::new(TaskId::new(uuid::Uuid::nil()), Style::Plain);
        let message = "connection refused".into();
        let failed =
            Event::TurnFailed { turn: Turn(1), fault: ModelFault::Transient, message, cost: Cost::ZERO, retry: None };
        assert_eq!([&failed, &failed].map(|event| rows(&mut feed, event)), [1, 0]);
    }
}
