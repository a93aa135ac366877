//! Prints asks as text and as JSON.

use host::{Clock, SystemClock};
use protocol::api::{AskState, SessionAskView};
use protocol::{AskDecision, AskId, AskSubject, CallId, SessionId, TaskId, Timestamp};
use serde::Serialize;
use tui::chat::call_lines;
use tui::escape::escape_invisible;
use tui::style::{Style, TextRole};
use tui::{print, time};

use super::inbox::{ApprovalInbox, describe_ask_state};
use crate::args::ApprovalListArgs;
use crate::error::CliError;
use crate::exit::CommandExit;

/// Maximum characters of a call shown in a list.
const MAX_SHOWN_CHARS: usize = 1_000;

/// Line width without a terminal.
const UNLIMITED_WIDTH: usize = usize::MAX / 2;

/// One ask as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AskRow<'a> {
    id: &'a AskId,
    number: u64,
    session: SessionId,
    title: &'a str,
    cwd: &'a str,
    task: TaskId,
    path: &'a str,
    call: &'a CallId,
    asked_at: Timestamp,
    until_at: Option<Timestamp>,
    subject: &'a AskSubject,
    state: &'a AskState,
    /// A decision stored for the next owner of the session.
    left: Option<&'a AskDecision>,
    owner_pid: Option<u32>,
}

impl AskRow<'_> {
    fn from_ask(pending: &SessionAskView) -> AskRow<'_> {
        let SessionAskView { view, cwd, title, owner_pid, queued_decision } = pending;
        AskRow {
            id: &view.ask.id,
            number: view.number,
            session: view.session,
            title,
            cwd,
            task: view.task,
            path: &view.path,
            call: &view.ask.call,
            asked_at: view.asked_at,
            until_at: view.ask.until_at,
            subject: &view.ask.subject,
            state: &view.state,
            left: queued_decision.as_ref(),
            owner_pid: *owner_pid,
        }
    }
}

pub(super) fn list(
    inbox: &ApprovalInbox<'_>,
    options: &ApprovalListArgs,
    style: Style,
) -> Result<CommandExit, CliError> {
    let asks = inbox.pending(options.session.as_deref())?;
    if options.json {
        print::json(&asks.iter().map(AskRow::from_ask).collect::<Vec<_>>());
        return Ok(CommandExit::Success);
    }
    if asks.is_empty() {
        print::note("nothing waits for your decision");
        return Ok(CommandExit::Success);
    }
    let now = SystemClock.now();
    for ask in &asks {
        print_heading(inbox, ask, now, style);
        print::output(format_args!("  in {}", session_label(ask)));
        print_body(ask, Some(MAX_SHOWN_CHARS), style);
    }
    if let Some(first) = asks.iter().find(|pending| pending.queued_decision.is_none()) {
        print::note(next_command_hint(first, &ask_argument(first, &asks)));
    }
    Ok(CommandExit::Success)
}

pub(super) fn show(
    inbox: &ApprovalInbox<'_>,
    pending: &SessionAskView,
    json: bool,
    style: Style,
) -> Result<CommandExit, CliError> {
    if json {
        print::json(&AskRow::from_ask(pending));
        return Ok(CommandExit::Success);
    }
    let view = &pending.view;
    let now = SystemClock.now();
    print_heading(inbox, pending, now, style);
    let owner = pending.owner_pid.map_or_else(|| "no process".to_owned(), |pid| format!("process {pid}"));
    let rows = [
        ("id", view.ask.id.to_string()),
        ("session", session_label(pending)),
        ("folder", escape_invisible(&pending.cwd)),
        ("run by", owner),
        ("asked", time::format_local(view.asked_at, now)),
    ];
    for (name, value) in rows {
        print::output(format_args!("  {name:<8} {value}"));
    }
    if let Some(until) = view.ask.until_at {
        print::output(format_args!("  {:<8} {}", "deadline", time::format_local(until, now)));
    }
    print_body(pending, None, style);
    match (&view.state, &pending.queued_decision) {
        (AskState::Open, None) => print::note(next_command_hint(pending, view.ask.id.short())),
        (AskState::Open, Some(_)) => {}
        (state @ (AskState::Decided { .. } | AskState::Withdrawn), _) => {
            print::output(format_args!("  {} {}", view.ask.id.short(), describe_ask_state(state)));
        }
    }
    Ok(CommandExit::Success)
}

/// Prints the heading of an ask: its number, id, age, agent and deadline.
fn print_heading(inbox: &ApprovalInbox<'_>, pending: &SessionAskView, now: Timestamp, style: Style) {
    let view = &pending.view;
    let age = protocol::format_age(view.asked_at, now);
    let agent = escape_invisible(print::agent_name(&view.path));
    let number = style.paint(TextRole::Accent, &view.number.to_string());
    let id = style.paint(TextRole::Dim, view.ask.id.short());
    print::output(format_args!("{number}  {id}  {age:>3} ago  {agent}{}", status_suffix(inbox, pending, now)));
}

/// The argument that selects an ask: its number, or its id if another ask has the same number.
fn ask_argument(pending: &SessionAskView, all: &[SessionAskView]) -> String {
    let number = pending.view.number;
    match all.iter().filter(|other| other.view.number == number).count() {
        0 | 1 => number.to_string(),
        _several => pending.view.ask.id.short().to_owned(),
    }
}

/// The session of an ask with its shortened title.
fn session_label(pending: &SessionAskView) -> String {
    format!("{}: {}", pending.view.session, escape_invisible(&print::one_line(&pending.title, 36)))
}

fn status_suffix(inbox: &ApprovalInbox<'_>, pending: &SessionAskView, now: Timestamp) -> String {
    match (&pending.queued_decision, pending.owner_pid, pending.view.ask.until_at) {
        _ if pending.view.state != AskState::Open => String::new(),
        (Some(decision), ..) => {
            format!("  {}; resume with: {}", decision.as_str(), inbox.resume_command(pending))
        }
        (None, None, _) => "  (its session is not running)".into(),
        (None, Some(_), None) => String::new(),
        (None, Some(_), Some(until)) => format!("  (will be denied in {})", protocol::format_age(now, until)),
    }
}

/// Prints the request and its reason, each up to `max_chars` characters.
fn print_body(pending: &SessionAskView, max_chars: Option<usize>, style: Style) {
    match &pending.view.ask.subject {
        AskSubject::Permission { tool, input, reason, rules } => {
            print::output(indented(&style.paint(TextRole::Strong, &escape_invisible(tool))));
            print_call(pending, input, max_chars, style);
            print::output(indented(&format!("why: {}", truncate_text(pending, reason, max_chars))));
            for rule in rules {
                print::output(indented(&format!("always: {}", truncate_text(pending, rule, max_chars))));
            }
        }
        AskSubject::Question { question, choices } => {
            print::output(indented(&truncate_text(pending, question, max_chars)));
            for (number, choice) in (1..).zip(choices) {
                print::output(indented(&format!("{number}. {}", truncate_text(pending, choice, max_chars))));
            }
        }
        AskSubject::Plan { summary, plan, actions, recommended, .. } => {
            print::output(indented(&truncate_text(pending, summary, max_chars)));
            print::output(indented(&truncate_text(pending, plan, max_chars)));
            for (number, action) in (1..).zip(actions) {
                let mark = if action == recommended { " (recommended)" } else { "" };
                print::output(indented(&format!("{number}. {action}: {}{mark}", action.description())));
            }
        }
    }
}

/// Prints the call; an edit as a diff.
fn print_call(pending: &SessionAskView, input: &str, max_chars: Option<usize>, style: Style) {
    let columns = print::width().unwrap_or(UNLIMITED_WIDTH);
    let (lines, rest) = call_lines(input, columns, max_chars.unwrap_or(usize::MAX), style);
    lines.iter().for_each(print::output);
    if rest > 0 {
        print::output(format_args!("  {}", more_hint(pending, rest)));
    }
}

/// Returns the text, shortened to `max_chars` characters, with a hint how to see the rest.
fn truncate_text(pending: &SessionAskView, text: &str, max_chars: Option<usize>) -> String {
    let shown: String = text.chars().take(max_chars.unwrap_or(usize::MAX)).collect();
    let rest = text.len() - shown.len();
    match rest {
        0 => escape_invisible(&shown),
        rest => format!("{}\n{}", escape_invisible(&shown), more_hint(pending, rest)),
    }
}

/// The command that shows the omitted rest.
fn more_hint(pending: &SessionAskView, rest: usize) -> String {
    format!("… {rest} more bytes: bosun approvals show {}", pending.view.ask.id.short())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// The next command to type.
fn next_command_hint(pending: &SessionAskView, id: &str) -> String {
    match pending.view.ask.subject {
        AskSubject::Permission { .. } => format!("hint: bosun approvals allow {id}, or deny, or always"),
        AskSubject::Question { .. } => format!("hint: bosun approvals answer {id} \"…\", or deny"),
        AskSubject::Plan { .. } => {
            format!("hint: bosun approvals answer {id} autopilot, a number, or the changes you want")
        }
    }
}
