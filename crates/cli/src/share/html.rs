//! A session as one HTML page: it contains no scripts, fetches nothing, and escapes all text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use client::TodoRow;
use protocol::api::{SessionView, TaskView};
use protocol::{
    CallId, ContentBlock, Envelope, Event, FleetEnd, MailBody, Principal, TaskId, TaskOutcome, TodoStatus,
    ToolCallRequest, ToolResult, Turn, clip_middle,
};
use tui::money::Money;
use tui::{event_text, print};

use super::escape::escape_html;
use super::{diff, markdown};

const STYLE: &str = include_str!("html.css");

/// The maximum number of bytes shown of a tool's input or result.
const MAX_SHOWN_BYTES: usize = 16 * 1024;

/// The data shown on a page.
pub(super) struct SessionPageData<'a> {
    pub(super) session: &'a SessionView,
    pub(super) tasks: &'a [TaskView],
    pub(super) todos: &'a [TodoRow],
    pub(super) plan: Option<&'a str>,
    pub(super) log: &'a [Envelope],
    /// What could not be read of the session.
    pub(super) damage: Option<&'a str>,
}

/// Renders the page.
pub(super) fn render_page(data: &SessionPageData<'_>) -> String {
    let SessionPageData { session, tasks, todos, plan, log, damage } = data;
    let title = print::one_line(&session.title, 80);
    let mut page = SessionPageBuilder { html: String::new(), paths: task_paths(tasks), answers: call_answers(log) };
    page.add(format_args!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>{}</h1>\n",
        escape_html(&title),
        escape_html(&title)
    ));
    if let Some(damage) = damage {
        page.add_note("bad", damage);
    }
    page.add_facts(session, newest_fleet(log), todos);
    if let Some(plan) = plan {
        page.add(format_args!("<h2>Plan</h2>\n{}", markdown::html(plan)));
    }
    page.add_todos(todos);
    page.add_tree(tasks);
    page.add_costs(session, tasks);
    page.add(format_args!("<h2>Conversation</h2>\n"));
    log.iter().for_each(|envelope| page.add_event(envelope));
    page.add(format_args!("</body>\n</html>\n"));
    page.html
}

struct SessionPageBuilder {
    html: String,
    paths: BTreeMap<TaskId, String>,
    answers: BTreeMap<(TaskId, Turn, CallId), ToolResult>,
}

impl SessionPageBuilder {
    fn add_facts(&mut self, session: &SessionView, fleet: Option<FleetPageState>, todos: &[TodoRow]) {
        let fleet = fleet.map(|fleet| describe_fleet(fleet, todos));
        let last_outcome = session.last_outcome.as_ref().map(|outcome| outcome.as_str().to_owned());
        let outcome = match (last_outcome, &fleet) {
            (Some(last_outcome), Some(fleet)) => format!("{last_outcome}; {fleet}"),
            (Some(last_outcome), None) => last_outcome,
            (None, Some(fleet)) => fleet.clone(),
            (None, None) => "none yet".to_owned(),
        };
        let rows = [
            ("session", session.id.to_string()),
            ("started", session.created_at.to_string()),
            ("last event", session.updated_at.to_string()),
            ("folder", session.cwd.clone()),
            ("model", protocol::model_display_name(&session.model)),
            ("mode", session.mode.to_string()),
            ("outcome", outcome),
        ];
        self.add(format_args!("<table>\n"));
        for (name, value) in rows {
            self.add(format_args!("<tr><th>{name}</th><td>{}</td></tr>\n", escape_html(&value)));
        }
        self.add(format_args!("</table>\n"));
    }

    /// Adds the todos and their status.
    fn add_todos(&mut self, todos: &[TodoRow]) {
        if todos.is_empty() {
            return;
        }
        self.add(format_args!(
            "<h2>Todos</h2>\n<table>\n<tr><th>todo</th><th>status</th><th>title</th><th>after</th></tr>\n"
        ));
        for TodoRow { todo, .. } in todos {
            let after = todo.depends_on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let reason = todo.reason.as_deref().filter(|_| todo.status != TodoStatus::Done);
            let reason =
                reason.map(|text| format!(" <span class=\"note\">{}</span>", escape_html(&print::one_line(text, 200))));
            self.add(format_args!(
                "<tr><td>{}</td><td>{}</td><td>{}{}</td><td>{}</td></tr>\n",
                escape_html(&todo.id.to_string()),
                todo.status.as_str(),
                escape_html(&todo.title),
                reason.unwrap_or_default(),
                escape_html(&after)
            ));
        }
        self.add(format_args!("</table>\n"));
    }

    /// Adds the agents and commands, each below its parent.
    fn add_tree(&mut self, tasks: &[TaskView]) {
        self.add(format_args!("<h2>Agents</h2>\n<ul>\n"));
        let mut depth = 0;
        for task in in_tree_order(tasks) {
            while depth < task.depth {
                self.add(format_args!("<ul>\n"));
                depth += 1;
            }
            while depth > task.depth {
                self.add(format_args!("</ul>\n"));
                depth -= 1;
            }
            let activity = print::one_line(task.intent.as_deref().unwrap_or(&task.description), 100);
            let state = task.last_outcome.as_ref().map_or(task.state.as_str(), TaskOutcome::as_str);
            let (name, agent) = (escape_html(&task.name), escape_html(&task.agent));
            self.add(format_args!(
                "<li>{name} ({agent}): {state} <span class=\"note\">{}</span></li>\n",
                escape_html(&activity)
            ));
        }
        (0..=depth).for_each(|_| self.add(format_args!("</ul>\n")));
    }

    fn add_costs(&mut self, session: &SessionView, tasks: &[TaskView]) {
        self.add(format_args!(
            "<h2>Cost</h2>\n<table>\n<tr><th>task</th><th>model</th><th class=\"n\">turns</th>\
             <th class=\"n\">tokens in</th><th class=\"n\">tokens out</th><th class=\"n\">cost</th></tr>\n"
        ));
        for task in tasks.iter().filter(|task| task.kind.is_agent()) {
            let model = task.model.as_ref().map_or(&session.model, |model| &model.effective);
            let cost = Money::new(task.cost_micros, task.priced);
            self.add_cost_row(
                &task.path,
                &protocol::model_display_name(model),
                [task.turns, task.usage.input, task.usage.output],
                cost,
            );
        }
        let total = Money::new(session.spent.micros, session.priced);
        self.add_cost_row("all", "", [session.turns, session.usage.input, session.usage.output], total);
        self.add(format_args!("</table>\n"));
    }

    fn add_cost_row(&mut self, task: &str, model: &str, [turns, input, output]: [u64; 3], cost: Money) {
        self.add(format_args!(
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{turns}</td><td class=\"n\">{input}</td>\
             <td class=\"n\">{output}</td><td class=\"n\">{cost}</td></tr>\n",
            escape_html(task),
            escape_html(model)
        ));
    }

    fn add_event(&mut self, envelope: &Envelope) {
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::MailAdmitted { from: Principal::User, body: MailBody::Text { text, .. }, .. } => {
                let heading = self.with_task_path(task, "User");
                self.add(format_args!("<h3>{heading}</h3>\n<pre class=\"user\">{}</pre>\n", escape_html(text)));
            }
            Event::TurnAnswered { turn, content, .. } => {
                let heading = self.with_task_path(task, &turn.to_string());
                self.add(format_args!("<h3>{heading}</h3>\n"));
                content.iter().for_each(|block| self.add_block(task, *turn, block));
            }
            Event::TurnFailed { turn, message, .. } => self.add_note("bad", &format!("{turn} failed: {message}")),
            Event::ModeChanged { mode, .. } => self.add_note("note", &format!("mode: {mode}")),
            Event::ModelChanged { model, .. } => self.add_note("note", &format!("model: {model}")),
            Event::AutopilotContinued { count, .. } => self.add_note("note", &format!("told to continue ({count})")),
            Event::AutopilotStopped { why, continues } => {
                self.add_note("note", &event_text::describe_autopilot_stop(why, *continues))
            }
            Event::ActivationEnded { outcome, .. } => {
                let ended = self.with_task_path(task, &format!("ended: {}", outcome.as_str()));
                self.add(format_args!("<p class=\"note\">{ended}</p>\n"));
            }
            Event::TaskInterrupted => self.add_note("note", "interrupted"),
            Event::FleetEnded { end, .. } => self.add_note("note", &format!("fleet ended: {}", fleet_end_word(*end))),
            _other => {}
        }
    }

    fn add_block(&mut self, task: TaskId, turn: Turn, block: &ContentBlock) {
        match block {
            ContentBlock::Text { text } => {
                self.add(format_args!("<div class=\"said\">\n{}</div>\n", markdown::html(text)))
            }
            ContentBlock::Thinking { text } => {
                self.add(format_args!(
                    "<details><summary>thinking</summary><pre>{}</pre></details>\n",
                    escape_html(text)
                ));
            }
            ContentBlock::Call(call) => self.add_call(task, turn, call),
            ContentBlock::Opaque { .. } => {}
        }
    }

    /// Adds a folded call with its result.
    fn add_call(&mut self, task: TaskId, turn: Turn, call: &ToolCallRequest) {
        let summary = escape_html(&event_text::call_line(call));
        let input = || format!("<pre>{}</pre>\n", escape_html(&clip_middle(&call.input, MAX_SHOWN_BYTES)));
        let input = diff::call_diff_html(call).unwrap_or_else(input);
        self.add(format_args!("<details><summary>{summary}</summary>\n{input}"));
        match self.answers.remove(&(task, turn, call.id.clone())) {
            Some(answer) => {
                let result = clip_middle(&answer.text, MAX_SHOWN_BYTES);
                self.add(format_args!("<p>{}</p>\n<pre>{}</pre>\n", answer.status.as_str(), escape_html(&result)));
            }
            None => self.add_note("bad", "not answered"),
        }
        self.add(format_args!("</details>\n"));
    }

    /// A text, prefixed with the task's path unless it is the root.
    fn with_task_path(&self, task: TaskId, text: &str) -> String {
        match self.paths.get(&task) {
            Some(path) if path != "/root" => format!("{}: {}", escape_html(path), escape_html(text)),
            Some(_) | None => escape_html(text),
        }
    }

    fn add_note(&mut self, class: &str, text: &str) {
        self.add(format_args!("<p class=\"{class}\">{}</p>\n", escape_html(text)));
    }

    fn add(&mut self, part: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _always = self.html.write_fmt(part);
    }
}

/// The state of the session's newest fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FleetPageState {
    Unfinished,
    Ended(FleetEnd),
}

fn newest_fleet(log: &[Envelope]) -> Option<FleetPageState> {
    log.iter().rev().find_map(|envelope| match &envelope.entry.event {
        Event::FleetEnded { end, .. } => Some(FleetPageState::Ended(*end)),
        Event::FleetBegan(_) => Some(FleetPageState::Unfinished),
        _other => None,
    })
}

fn describe_fleet(fleet: FleetPageState, todos: &[TodoRow]) -> String {
    let state = match fleet {
        FleetPageState::Unfinished => "not finished",
        FleetPageState::Ended(end) => fleet_end_word(end),
    };
    let done = todos.iter().filter(|row| row.todo.status == TodoStatus::Done).count();
    format!("fleet {state}: {done} of {} done", print::pluralize(todos.len(), "todo"))
}

fn fleet_end_word(end: FleetEnd) -> &'static str {
    match end {
        FleetEnd::Done => "done",
        FleetEnd::Blocked => "blocked",
        FleetEnd::Stopped => "stopped",
    }
}

fn task_paths(tasks: &[TaskView]) -> BTreeMap<TaskId, String> {
    tasks.iter().map(|task| (task.id, task.path.clone())).collect()
}

/// Parents before their children, siblings in the order of their start.
fn in_tree_order(tasks: &[TaskView]) -> Vec<&TaskView> {
    fn descendants<'a>(
        tasks: &BTreeMap<Option<TaskId>, Vec<&'a TaskView>>,
        parent: Option<TaskId>,
    ) -> Vec<&'a TaskView> {
        let children = tasks.get(&parent).into_iter().flatten();
        children.flat_map(|task| [*task].into_iter().chain(descendants(tasks, Some(task.id)))).collect()
    }
    let mut children: BTreeMap<Option<TaskId>, Vec<&TaskView>> = BTreeMap::new();
    tasks.iter().for_each(|task| children.entry(task.parent).or_default().push(task));
    descendants(&children, None)
}

/// The result of each call of each turn: calls of different turns may share an id.
fn call_answers(log: &[Envelope]) -> BTreeMap<(TaskId, Turn, CallId), ToolResult> {
    let (mut turns, mut answers) = (BTreeMap::new(), BTreeMap::new());
    for envelope in log {
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::TurnAnswered { turn, .. } => drop(turns.insert(task, *turn)),
            Event::CallAnswered { call, answer, .. } => {
                let turn = turns.get(&task).copied().unwrap_or(Turn(0));
                answers.insert((task, turn, call.clone()), answer.clone());
            }
            _other => {}
        }
    }
    answers
}
