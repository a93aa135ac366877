//! A session's log as text that is the same in every run: a section per task in creation order, with the task's events
//! in order. Tool results appear in the order of their calls, whichever came first.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use protocol::{
    AskSubject, CallId, Compaction, ContentBlock, Envelope, Event, MailBody, ModelFault, Principal, SessionConfig,
    TaskId, TaskOutcome, TaskSpec, ToolCallRequest, ToolResult, clip_middle,
};

/// Maximum length of a text shown, in bytes.
const SHOWN: usize = 600;

/// The log as text.
pub fn transcript(log: &[Envelope]) -> String {
    let mut pages: Vec<TranscriptPage> = Vec::new();
    let mut names = BTreeMap::new();
    for Envelope { entry, .. } in log {
        if let Event::TaskCreated(spec) = &entry.event {
            let above = spec.parent.and_then(|parent| names.get(&parent)).cloned().unwrap_or_default();
            names.insert(entry.task, format!("{above}/{}", spec.name));
        }
        let index = pages.iter().position(|page| page.task == entry.task).unwrap_or_else(|| {
            pages.push(TranscriptPage { task: entry.task, lines: String::new(), calls: Vec::new() });
            pages.len() - 1
        });
        pages[index].read(&entry.event, &names);
    }
    pages.into_iter().map(TranscriptPage::finish).collect::<Vec<_>>().join("\n")
}

struct TranscriptPage {
    task: TaskId,
    lines: String,
    /// The calls of the latest answer, in its order.
    calls: Vec<(CallId, Option<ToolResult>)>,
}

type TranscriptNames = BTreeMap<TaskId, String>;

impl TranscriptPage {
    fn read(&mut self, event: &Event, names: &TranscriptNames) {
        match event {
            Event::SessionOpened(terms) => self.terms("opened", terms),
            Event::SessionAdopted { fence, config: terms } => self.terms(&format!("adopted, {fence},"), terms),
            Event::SessionForked { .. } => self.add("forked"),
            Event::AdmissionClosed => self.add("takes no new tasks"),
            Event::AdmissionOpened => self.add("takes new tasks again"),
            Event::TaskCreated(spec) => self.created(spec, names),
            Event::TaskPromoted => self.add("promoted"),
            Event::TaskParked { until_at: Some(until), .. } => self.add(format_args!("parked until {until}")),
            Event::TaskParked { until_at: None, why } => self.add(format_args!("parked: waits for {}", why.describe())),
            Event::TaskInterrupted => self.add("interrupted"),
            Event::TaskRequeued => self.add("queued"),
            Event::SlotRegained => self.add("has its slot again"),
            Event::CancelRequested { by, how, .. } => self.add(format_args!("asked to stop by {by:?}: {how:?}")),
            Event::AgentDefined { spec, .. } => self.add(format_args!("uses the agent {}", spec.name)),
            Event::AgentSelected { agent, .. } => self.add(format_args!("goes on as {agent}")),
            Event::SessionTitled { title } => self.add(format_args!("titled {title}")),
            Event::ExternalTaskReported { report } => {
                let summary = report.summary().unwrap_or_default();
                self.add(format_args!("its client reports {:?} {summary}", report.activity));
            }
            Event::McpTaskReported { report } => self.add(format_args!("its server: {}", report.summary())),
            Event::TaskStalled { .. } => self.add("stalled"),
            Event::TaskUnstalled => self.add("shows signs of life again"),
            Event::WakeDelayed { .. } => self.add("waits for more results"),
            Event::TaskForgotten => self.add("forgotten"),
            Event::StartHooksRan { context, .. } => {
                self.add("start hooks ran");
                context.iter().for_each(|text| self.quote(text));
            }
            Event::StopHooksRan { .. } => self.add("stop hooks ran"),
            Event::StopBlocked { by, reason } => {
                self.add(format_args!("held by {by:?}"));
                self.quote(reason);
            }
            Event::CallRewritten { call, input } => self.add(format_args!("  {call} is rewritten: {input}")),
            Event::ToolsLoaded { tools, descriptions: _ } => self.add(format_args!("  loaded {}", tools.join(", "))),
            Event::TaskFinished { outcome } => self.add(format_args!("finished: {}", ended(outcome))),
            Event::ActivationStarted { activation, attempt } => {
                self.add(format_args!("activation {}, attempt {}", activation.0, attempt.0));
            }
            Event::ActivationEnded { outcome, text, .. } => {
                self.add(format_args!("activation ended: {}", ended(outcome)));
                self.quote(text);
            }
            Event::MailAdmitted { mail, from, delivery, body } => {
                self.add(format_args!("{mail} from {}, {delivery:?}", origin(*from, names)));
                self.body(body, names);
            }
            Event::MailDelivered { mail } => mail.iter().for_each(|mail| self.add(format_args!("read {mail}"))),
            Event::MailExpired { mail } => self.add(format_args!("{mail} expired")),
            Event::TurnBegun { turn, .. } => self.add(turn),
            Event::TurnAnswered { content, stop, .. } => {
                self.add(format_args!("  answered: {stop:?}"));
                content.iter().for_each(|block| self.block(block));
            }
            Event::TurnFailed { fault, message, .. } => self.failed(*fault, message),
            Event::CallStarted { .. } | Event::CallProgressed { .. } => {}
            Event::CallAnswered { call, answer, .. } => self.answer(call, answer),
            Event::WaitBegan { call, on, mode, until_at } => {
                let on: Vec<&str> = on.iter().map(|task| name(task, names)).collect();
                let until = until_at.map(|at| format!(" until {at}")).unwrap_or_default();
                self.add(format_args!("  {call} waits for {mode:?} of {}{until}", on.join(", ")));
            }
            Event::AskOpened(ask) => self.add(match &ask.subject {
                AskSubject::Permission { tool, reason, .. } => format!("  asks to run {tool}: {reason}"),
                AskSubject::Question { question, .. } => format!("  asks the user: {question}"),
                AskSubject::Plan { summary, recommended, .. } => {
                    format!("  asks how the plan goes on, recommends {recommended}: {summary}")
                }
            }),
            Event::ModeChanged { mode, by } => self.add(format_args!("mode {mode}, by {}", origin(*by, names))),
            Event::ModelChanged { model, effort, by } => {
                let effort = effort.map(|effort| format!(", effort {}", effort.as_str())).unwrap_or_default();
                self.add(format_args!("model {model}{effort}, by {}", origin(*by, names)))
            }
            Event::McpServerToggled { server, enabled, by } => {
                let state = if *enabled { "on" } else { "off" };
                self.add(format_args!("MCP server {server} {state}, by {}", origin(*by, names)));
            }
            Event::AutopilotContinued { count, .. } => self.add(format_args!("told to go on, {count}")),
            Event::AutopilotStopped { why, continues } => {
                self.add(format_args!("autopilot stops after {continues}: {why:?}"));
            }
            Event::AskDecided { decision, by, .. } => self.add(format_args!("  {} by {by:?}", decision.as_str())),
            Event::WaitEnded { call, why } => self.add(format_args!("  {call} waited: {why:?}")),
            Event::ModelDiffered { asked, answered, .. } => {
                self.add(format_args!("  {asked} was asked, {answered} answered"));
            }
            Event::BudgetLow { spent, .. } => self.add(format_args!("  little is left: {} tokens spent", spent.tokens)),
            Event::WrapUpBegan { why } => self.add(format_args!("  one last turn: {why:?}")),
            Event::ConversationCut { after } => self.add(format_args!("  conversation cut after {after}")),
            Event::Compacted(Compaction { messages, digest, .. }) => {
                self.add(format_args!("  {messages} messages compacted"));
                digest.iter().for_each(|digest| self.quote(digest));
            }
            Event::TodosChanged { changed, gone, .. } => {
                changed.iter().for_each(|todo| self.add(format_args!("todo {}: {}", todo.id, todo.status.as_str())));
                gone.iter().for_each(|todo| self.add(format_args!("todo {todo} is gone")));
            }
            Event::FleetBegan(terms) => self.add(format_args!("a fleet begins: {}", terms.goal)),
            Event::TodoClaimed { todo, fence, .. } => self.add(format_args!("holds todo {todo} ({fence})")),
            Event::TodoReturned { todo, failure, .. } => {
                self.add(format_args!("gives todo {todo} back: {}", failure.as_deref().unwrap_or("broken off")));
            }
            Event::TodoDone { todo, .. } => self.add(format_args!("todo {todo} is done")),
            Event::TodoBlocked { todo, why } => self.add(format_args!("todo {todo} is blocked: {why}")),
            Event::TodoUnblocked { todo } => self.add(format_args!("todo {todo} is free")),
            Event::FleetEnded { end, why: None } => self.add(format_args!("the fleet ends: {end:?}")),
            Event::FleetEnded { end, why: Some(why) } => self.add(format_args!("the fleet ends: {end:?}, {why:?}")),
            Event::WorkCheckedOut { .. } => self.add("  works in a checkout of its own"),
            Event::WorkSealed { .. } => self.add("  its work is kept"),
            Event::FleetMerged(summary) => {
                self.add(format_args!("the fleet's work is merged: {} todos", summary.todos.len()));
            }
            Event::WorkMerged { todo, .. } => self.add(format_args!("todo {todo} is merged")),
            Event::ItemChanged { list, item } => {
                let (id, status, version) = (item.id, item.status.as_str(), item.version);
                self.add(format_args!("  item {id} of {list}: {status}, version {version}"));
            }
            Event::PromptSuggested { text } => self.add(format_args!("suggests: {text}")),
            Event::IntentReported { intent } => self.add(format_args!("  intends: {intent}")),
            Event::TurnReservationRaised { output, .. } => {
                self.add(format_args!("  set aside for {output} tokens of answer"))
            }
            Event::BudgetAwaited => self.add("  waits for budget"),
            Event::Unknown => self.add("something newer"),
        }
    }

    fn terms(&mut self, how: &str, terms: &SessionConfig) {
        self.add(format_args!("{how} in {} with {}, {:?}", terms.cwd, terms.model, terms.permission));
    }

    fn created(&mut self, spec: &TaskSpec, names: &TranscriptNames) {
        let path = name(&self.task, names).to_owned();
        self.lines.insert_str(0, &format!("# {path}: {}\n", spec.description));
    }

    fn failed(&mut self, fault: ModelFault, message: &str) {
        self.add(format_args!("  failed: {fault:?}"));
        self.quote(message);
    }

    fn body(&mut self, body: &MailBody, names: &TranscriptNames) {
        match body {
            MailBody::Text { text, .. } => self.quote(text),
            MailBody::Result { task, activation } => {
                self.add(format_args!("  | result of {}, activation {}", name(task, names), activation.0));
            }
        }
    }

    fn block(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text { text } => self.quote(text),
            ContentBlock::Thinking { text } => self.quote(&format!("(thinks) {text}")),
            ContentBlock::Call(ToolCallRequest { id, tool, input }) => {
                self.add(format_args!("  {id}: {tool} {}", clip_middle(input, SHOWN)));
                self.calls.push((id.clone(), None));
            }
            ContentBlock::Opaque { provider, .. } => self.quote(&format!("(opaque, {provider})")),
        }
    }

    fn answer(&mut self, id: &CallId, answer: &ToolResult) {
        match self.calls.iter_mut().find(|(call, given)| call == id && given.is_none()) {
            Some((_, given)) => *given = Some(answer.clone()),
            None => self.add(format_args!("  {id} ANSWERED WITHOUT AN OPEN CALL")),
        }
        if self.calls.iter().all(|(_, given)| given.is_some()) {
            self.answers();
        }
    }

    fn answers(&mut self) {
        for (call, answer) in std::mem::take(&mut self.calls) {
            match answer {
                Some(answer) => {
                    self.add(format_args!("  {call} answered: {:?}", answer.status));
                    self.quote(&answer.text);
                }
                None => self.add(format_args!("  {call} has no answer")),
            }
        }
    }

    fn quote(&mut self, text: &str) {
        for line in clip_middle(text, SHOWN).lines() {
            self.add(format_args!("  | {line}"));
        }
    }

    fn add(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _always = writeln!(self.lines, "{line}");
    }

    fn finish(mut self) -> String {
        self.answers();
        self.lines
    }
}

fn name<'a>(task: &TaskId, names: &'a TranscriptNames) -> &'a str {
    names.get(task).map_or("an unknown task", String::as_str)
}

fn origin(from: Principal, names: &TranscriptNames) -> String {
    match from {
        Principal::User => "the user".into(),
        Principal::Task { id } => name(&id, names).into(),
        Principal::Runtime => "the runtime".into(),
    }
}

fn ended(outcome: &TaskOutcome) -> String {
    match outcome {
        TaskOutcome::Failed { kind, message } => format!("failed, {kind:?}: {message}"),
        TaskOutcome::Cancelled { by } => format!("cancelled by {by:?}"),
        TaskOutcome::TimedOut { limit } => format!("timed out: {limit:?}"),
        TaskOutcome::Completed | TaskOutcome::BudgetExhausted | TaskOutcome::Lost => outcome.as_str().into(),
    }
}
