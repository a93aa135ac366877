//! The result of a run: the answer, the outcome of every task, denied calls, and usage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use client::{SessionHandle, SessionMessage, StoreError};
use protocol::api::{ParkingView, TaskView};
use protocol::{
    Ask, AskDecision, AskId, AskSubject, AutopilotStop, CallId, CancelBy, ContentBlock, DecidedBy, Event, Evidence,
    FailKind, PlanAction, Principal, SessionMode, TaskId, TaskOutcome, ToolResultStatus, Turn,
};
use serde::Serialize;
use tui::background_names::BackgroundNames;
use tui::event_text::ProgressMode;
use tui::print;
use tui::usage_summary::SessionUsageSummary;

use crate::args::OutputFormat;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fleet::{FleetProgress, FleetRunEnd};
use crate::foreground_session::ForegroundSession;

/// Why the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// Nothing is left to do.
    NothingLeft,
    /// A signal or the user asked it to end.
    StopRequested,
    /// It waits for a quota, for longer than the caller allows.
    Parked,
    /// Its time limit was reached while it waited for a quota.
    TimeUp,
    /// Its progress could not be written.
    Paused,
}

/// The collected results of a run.
#[derive(Debug)]
pub(crate) struct RunSummary {
    pub(super) session: SessionHandle,
    root: TaskId,
    pub(super) started_at: Instant,
    pub(crate) end: RunEnd,
    pub(crate) interrupted: bool,
    pub(crate) paused: Option<Arc<StoreError>>,
    /// The quota or other condition that the whole session waits for.
    pub(crate) parked: Option<ParkingView>,
    /// How the root's last activation of this run ended, and its text.
    pub(super) answer: Option<(TaskOutcome, String)>,
    /// What the root said in its latest turn with text, as far as it was received. If it cannot be written, this is the
    /// only copy.
    said: Option<(Turn, String)>,
    /// Whether this run began or resumed a fleet. One that an earlier process left may end without being its work.
    has_fleet: bool,
    /// How the fleet of this run ended.
    pub(crate) fleet_end: Option<FleetRunEnd>,
    /// The fleet's todos.
    pub(super) fleet: Option<FleetProgress>,
    /// The tasks of a fleet. Its outcome counts, not theirs: a todo may be tried again.
    fleet_tasks: BTreeSet<TaskId>,
    /// The outcomes of tasks that finished in this run.
    pub(super) finished: Vec<(TaskId, TaskOutcome)>,
    /// The agents that were stopped because the waiting time was over.
    pub(super) stopped_agents: BTreeSet<String>,
    /// The background commands that were stopped for the same reason.
    pub(super) stopped_commands: BTreeSet<String>,
    /// The names of tasks created in this run.
    task_names: BTreeMap<TaskId, String>,
    /// The calls of each task's latest answer.
    calls: BTreeMap<(TaskId, CallId), RunCall>,
    pub(crate) denials: Vec<Denial>,
    pub(super) usage: Option<SessionUsageSummary>,
    pub(super) tasks: Vec<TaskView>,
    /// Why autopilot stopped, and how often the agent was told to continue.
    pub(super) autopilot_stop: Option<(AutopilotStop, u32)>,
    /// The plan, if the run ends with it.
    pub(super) plan: Option<String>,
    /// Whether the run was in plan mode and its plan was not carried out.
    has_open_plan: bool,
    /// Whether a plan was made and carried out.
    plan_carried_out: bool,
    /// The files that calls changed.
    pub(super) changed_files: BTreeSet<String>,
}

/// A call that was not permitted.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Denial {
    task: TaskId,
    pub(super) tool: String,
    input: String,
    /// Why it was not permitted.
    reason: String,
    /// The ask about it.
    ask: Option<AskId>,
    /// Who decided the ask.
    pub(super) by: Option<DecidedBy>,
    /// The rules that would allow it and similar calls; none if no rule may, or if the user denied it.
    pub(super) rules: Vec<String>,
}

/// A call, with the ask about it.
#[derive(Debug, Default)]
struct RunCall {
    tool: String,
    input: String,
    ask: Option<RunCallAsk>,
}

/// The ask about a call, and its decision.
#[derive(Debug)]
struct RunCallAsk {
    id: AskId,
    reason: String,
    by: Option<DecidedBy>,
    rules: Vec<String>,
}

impl RunSummary {
    pub(crate) fn new(session: &ForegroundSession) -> RunSummary {
        RunSummary {
            session: session.handle().clone(),
            root: session.root(),
            started_at: Instant::now(),
            end: RunEnd::NothingLeft,
            interrupted: false,
            paused: None,
            parked: None,
            answer: None,
            said: None,
            has_fleet: false,
            fleet_end: None,
            fleet: None,
            fleet_tasks: BTreeSet::new(),
            finished: Vec::new(),
            stopped_agents: BTreeSet::new(),
            stopped_commands: BTreeSet::new(),
            task_names: BTreeMap::new(),
            calls: pending_asks(session),
            denials: Vec::new(),
            usage: None,
            tasks: Vec::new(),
            autopilot_stop: None,
            plan: None,
            has_open_plan: is_planning(session),
            plan_carried_out: false,
            changed_files: BTreeSet::new(),
        }
    }

    /// The results of a run that works on the session's fleet.
    pub(crate) fn of_fleet(session: &ForegroundSession) -> RunSummary {
        RunSummary { has_fleet: true, ..RunSummary::new(session) }
    }

    /// The root's last answer in this run.
    pub(crate) fn answer_text(&self) -> &str {
        self.text()
    }

    /// How the fleet ended, once it is not at work any more.
    pub(crate) fn take_fleet_end(&mut self, failure: Option<String>) -> FleetRunEnd {
        self.fleet_end.take().or(failure.map(FleetRunEnd::Broken)).unwrap_or(FleetRunEnd::SessionEnded)
    }

    /// Applies a message.
    pub(crate) fn apply(&mut self, message: &SessionMessage) {
        let envelope = match message {
            SessionMessage::Event(envelope) => envelope,
            SessionMessage::Text { task, turn, text } => return self.append_streamed(*task, *turn, text),
            SessionMessage::Status(_) => return,
        };
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::ActivationEnded { outcome, text, .. } if task == self.root => {
                self.answer = Some((outcome.clone(), text.clone()));
            }
            Event::FleetBegan(_) => (self.has_fleet, self.fleet_end) = (true, None),
            Event::FleetEnded { end, why } if self.has_fleet => {
                self.fleet_end = Some(FleetRunEnd::Ended(*end, why.clone()))
            }
            Event::TaskCreated(spec) => {
                self.task_names.insert(task, spec.name.clone());
                if spec.todo.is_some() || spec.merges.is_some() {
                    self.fleet_tasks.insert(task);
                }
            }
            // An agent that was not allowed to start has not failed.
            Event::TaskFinished { outcome: TaskOutcome::Failed { kind: FailKind::Denied, message } } => {
                let (tool, input) =
                    (protocol::tool_name::TASK.to_owned(), self.task_names.get(&task).cloned().unwrap_or_default());
                self.denials.push(Denial {
                    task,
                    tool,
                    input,
                    reason: message.clone(),
                    ask: None,
                    by: None,
                    rules: Vec::new(),
                });
            }
            Event::TaskFinished { .. } if self.fleet_tasks.contains(&task) => {}
            Event::TaskFinished { outcome } => self.finished.push((task, outcome.clone())),
            Event::TurnAnswered { turn, content, .. } => {
                self.keep_said(task, *turn, content);
                self.calls.retain(|(other, _), _| *other != task);
                let calls = content.iter().filter_map(call_of_block).map(|(id, call)| ((task, id), call));
                self.calls.extend(calls);
            }
            Event::AskOpened(ask) => self.calls.extend(call_of_ask(task, ask)),
            Event::AskDecided { call, decision: AskDecision::Deny { message: reason }, by, .. } => {
                if let Some(asked) = self.calls.get_mut(&(task, call.clone())).and_then(|c| c.ask.as_mut()) {
                    asked.deny(reason, *by);
                }
            }
            Event::AskDecided { decision: AskDecision::Proceed { action }, .. } if *action != PlanAction::ExitOnly => {
                (self.has_open_plan, self.plan_carried_out) = (false, true);
            }
            Event::AutopilotStopped { why, continues } => self.autopilot_stop = Some((why.clone(), *continues)),
            Event::ModeChanged { mode, by } => {
                // A change of mode without a plan action is final.
                self.has_open_plan = match (mode, by) {
                    (SessionMode::Plan, _) => true,
                    (SessionMode::Interactive, Principal::Runtime) => self.has_open_plan,
                    (SessionMode::Interactive | SessionMode::Autopilot, _) => false,
                };
                self.autopilot_stop = None;
            }
            Event::CallAnswered { evidence, .. } if !evidence.is_empty() => {
                self.changed_files.extend(evidence.iter().filter_map(|item| match item {
                    Evidence::Changed { path } => Some(path.clone()),
                    Evidence::Ran { .. } => None,
                }));
            }
            Event::CallAnswered { call, answer, .. } if answer.status == ToolResultStatus::Denied => {
                let RunCall { tool, input, ask: asked } = self.calls.remove(&(task, call.clone())).unwrap_or_default();
                self.denials.push(match asked {
                    Some(RunCallAsk { id, reason, by, rules }) => {
                        Denial { task, tool, input, reason, ask: Some(id), by, rules }
                    }
                    None => Denial {
                        task,
                        tool,
                        input,
                        reason: answer.text.clone(),
                        ask: None,
                        by: None,
                        rules: Vec::new(),
                    },
                });
            }
            _other => {}
        }
    }

    /// Appends text that the root streams before it is durable.
    fn append_streamed(&mut self, task: TaskId, turn: Turn, text: &str) {
        if task != self.root {
            return;
        }
        let (said_turn, said_text) = self.said.get_or_insert_with(|| (turn, String::new()));
        if *said_turn != turn {
            (*said_turn, *said_text) = (turn, String::new());
        }
        said_text.push_str(text);
    }

    /// Keeps the text of the root's answer: a fast answer may have been streamed before this run listened.
    fn keep_said(&mut self, task: TaskId, turn: Turn, content: &[ContentBlock]) {
        let text = ContentBlock::text_of(content);
        if task == self.root && !text.is_empty() {
            self.said = Some((turn, text));
        }
    }

    /// Records that the session's progress could not be written.
    pub(super) fn pause(&mut self, error: StoreError) {
        (self.end, self.paused) = (RunEnd::Paused, Some(Arc::new(error)));
    }

    /// Records background work that was stopped.
    pub(super) fn note_stopped(&mut self, work: BackgroundNames) {
        self.stopped_agents.extend(work.agents);
        self.stopped_commands.extend(work.commands);
    }

    /// Reads the totals after the session was left.
    pub(crate) fn read_totals(&mut self, left: Result<(), StoreError>) -> Result<(), CliError> {
        // The error that paused it is reported; earlier events can still be read.
        if let (Err(error), None) = (left, &self.paused) {
            return Err(error.into());
        }
        let has_fleet = self.fleet_end.is_some();
        let read = |session: &SessionHandle| -> Result<_, StoreError> {
            let fleet = if has_fleet { session.fleet_status()?.map(FleetProgress::from) } else { None };
            let totals = session.totals()?;
            Ok((SessionUsageSummary::new(totals.session, totals.spendings), totals.tasks, fleet))
        };
        match (read(&self.session), &self.paused) {
            (Ok((usage, tasks, fleet)), _) => {
                self.plan = self.final_plan();
                (self.usage, self.tasks, self.fleet) = (Some(usage), tasks, fleet);
            }
            (Err(_), Some(_)) => {}
            (Err(error), None) => return Err(error.into()),
        }
        Ok(())
    }

    /// The plan, if it is the result of the run: the run was in plan mode, and the plan was not carried out.
    fn final_plan(&self) -> Option<String> {
        if !self.has_open_plan {
            return None;
        }
        self.read_plan()
    }

    fn read_plan(&self) -> Option<String> {
        client::read_plan(self.session.home(), self.session.id()).ok().flatten()
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> CommandExit {
        let ended = match self.end {
            RunEnd::NothingLeft => CommandExit::Success,
            RunEnd::StopRequested => CommandExit::Cancelled,
            RunEnd::Parked => CommandExit::Parked,
            RunEnd::TimeUp => CommandExit::Limit,
            RunEnd::Paused => CommandExit::Failed,
        };
        let answer = match (&self.answer, self.end) {
            (Some((outcome, _)), _) => Some(root_exit(outcome)),
            (None, RunEnd::NothingLeft) if self.fleet_end.is_some() => None,
            (None, RunEnd::NothingLeft) => Some(CommandExit::Failed),
            (None, RunEnd::StopRequested | RunEnd::Parked | RunEnd::TimeUp | RunEnd::Paused) => None,
        };
        let interrupted = self.interrupted.then_some(CommandExit::Cancelled);
        let fleet = self.fleet_end.as_ref().map(|end| end.exit(self.fleet.as_ref()));
        let autopilot = self.autopilot_stop.as_ref().map(|(why, _)| autopilot_exit(why));
        let cut_off = !(self.stopped_agents.is_empty() && self.stopped_commands.is_empty());
        let cut_off = cut_off.then_some(CommandExit::Limit);
        let exits = [ended].into_iter().chain(interrupted).chain(fleet).chain(answer).chain(autopilot).chain(cut_off);
        CommandExit::worst(exits.chain(self.finished.iter().map(|(_, outcome)| task_exit(outcome))))
    }

    /// Writes the report to stdout, and its explanation to stderr.
    pub(crate) fn write(&self, format: OutputFormat, progress: ProgressMode) {
        match format {
            OutputFormat::Text => {
                let text = self.plan.as_deref().unwrap_or(self.text());
                if !text.is_empty() {
                    print::output(print::sanitize(text).trim_end());
                }
            }
            OutputFormat::Json | OutputFormat::Jsonl => print::json(&self.to_json()),
        }
        if let (true, ProgressMode::Lines, Some(plan)) = (self.plan_carried_out, progress, self.read_plan()) {
            print::note(format_args!("the plan that was carried out:\n{}", print::sanitize(plan.trim_end())));
        }
        self.explain();
        let line = self.usage.as_ref().and_then(SessionUsageSummary::summary_line);
        if let (OutputFormat::Text, ProgressMode::Lines, Some(line)) = (format, progress, line) {
            print::note(format_args!("{line}; {}", self.totals_line()));
        }
    }

    /// The run's totals besides tokens and cost.
    fn totals_line(&self) -> String {
        let agents = self.tasks.iter().filter(|task| task.kind.is_subagent()).count();
        let (seconds, files) = (self.started_at.elapsed().as_secs_f64(), self.changed_files.len());
        format!("{}; {}; {seconds:.1} s", print::pluralize(agents, "agent"), print::pluralize(files, "changed file"))
    }

    pub(super) fn text(&self) -> &str {
        let said = self.said.as_ref().filter(|_| matches!(self.end, RunEnd::Paused)).map(|(_, text)| &**text);
        self.answer.as_ref().map(|(_, text)| &**text).or(said).unwrap_or("")
    }
}

/// Calls that an earlier process asked about and that may be decided in this one.
fn pending_asks(session: &ForegroundSession) -> BTreeMap<(TaskId, CallId), RunCall> {
    if session.first_seq() == 0 {
        return BTreeMap::new();
    }
    let asks = session.handle().all_asks();
    asks.unwrap_or_default().iter().filter_map(|view| call_of_ask(view.task, &view.ask)).collect()
}

/// Whether an earlier process left the session in plan mode.
fn is_planning(session: &ForegroundSession) -> bool {
    session.first_seq() > 0 && session.handle().view().is_ok_and(|view| view.mode == SessionMode::Plan)
}

fn call_of_ask(task: TaskId, ask: &Ask) -> Option<((TaskId, CallId), RunCall)> {
    match &ask.subject {
        AskSubject::Permission { tool, input, reason, rules } => {
            let asked = Some(RunCallAsk { id: ask.id.clone(), reason: reason.clone(), by: None, rules: rules.clone() });
            Some(((task, ask.call.clone()), RunCall { tool: tool.clone(), input: input.clone(), ask: asked }))
        }
        AskSubject::Question { .. } | AskSubject::Plan { .. } => None,
    }
}

impl RunCallAsk {
    /// Records why the call was denied.
    fn deny(&mut self, message: &str, by: DecidedBy) {
        let decision = match by {
            DecidedBy::Deadline => "it was not decided in time".into(),
            DecidedBy::User if message.trim().is_empty() => "the user denied it".into(),
            DecidedBy::User => format!("the user denied it: {message}"),
        };
        self.reason = format!("{}, and {decision}", self.reason);
        self.by = Some(by);
        if by == DecidedBy::User {
            self.rules.clear();
        }
    }
}

fn call_of_block(block: &ContentBlock) -> Option<(CallId, RunCall)> {
    match block {
        ContentBlock::Call(call) => {
            let (tool, input) = (call.tool.clone(), call.input.clone());
            Some((call.id.clone(), RunCall { tool, input, ask: None }))
        }
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}

fn root_exit(outcome: &TaskOutcome) -> CommandExit {
    match outcome {
        TaskOutcome::Completed => CommandExit::Success,
        TaskOutcome::Failed { .. } | TaskOutcome::Lost => CommandExit::Failed,
        TaskOutcome::Cancelled { .. } => CommandExit::Cancelled,
        TaskOutcome::TimedOut { .. } => CommandExit::Limit,
        TaskOutcome::BudgetExhausted => CommandExit::Budget,
    }
}

/// The exit code of an autopilot stop. For `Failed`, the outcome of the last activation determines it.
fn autopilot_exit(why: &AutopilotStop) -> CommandExit {
    match why {
        AutopilotStop::Complete { .. } | AutopilotStop::Failed => CommandExit::Success,
        AutopilotStop::Blocked { .. } => CommandExit::Failed,
        AutopilotStop::Limit => CommandExit::Limit,
        AutopilotStop::NoChange => CommandExit::Partial,
        AutopilotStop::Aborted { by: CancelBy::User | CancelBy::Agent | CancelBy::Server } => CommandExit::Cancelled,
        AutopilotStop::Aborted { by: CancelBy::Parent | CancelBy::SessionEnd } => CommandExit::Limit,
    }
}

/// The exit code of a task: a failed task makes the answer partial, a cancelled one does not.
pub(super) fn task_exit(outcome: &TaskOutcome) -> CommandExit {
    match outcome {
        TaskOutcome::Completed | TaskOutcome::Cancelled { .. } => CommandExit::Success,
        TaskOutcome::Failed { .. }
        | TaskOutcome::TimedOut { .. }
        | TaskOutcome::BudgetExhausted
        | TaskOutcome::Lost => CommandExit::Partial,
    }
}
