//! What waits for a person, as text and as JSON.

use host::{Clock, SystemClock};
use protocol::api::AskState;
use protocol::{AskDecision, AskId, AskSubject, CallId, SessionId, TaskId, Timestamp};
use serde::Serialize;

use super::inbox::{ApprovalInbox, PendingAsk, describe_ask_state};
use crate::args::ApprovalListArgs;
use crate::error::CliError;
use crate::escape::escape_invisible;
use crate::exit::CommandExit;
use crate::style::{Style, TextRole};
use crate::{chat, print, time};

/// Most characters of a call that a list shows.
const MAX_SHOWN_CHARS: usize = 1_000;

/// How wide lines are that no terminal limits.
const UNLIMITED_WIDTH: usize = usize::MAX / 2;

/// One ask as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AskRow<'a> {
    id: &'a AskId,
    number: u64,
    session: SessionId,
    title: &'a str,
    cwd: String,
    task: TaskId,
    path: &'a str,
    call: &'a CallId,
    asked_at: Timestamp,
    until_at: Option<Timestamp>,
    subject: &'a AskSubject,
    state: &'a AskState,
    /// What was decided and is left for the session's next process.
    left: Option<&'a AskDecision>,
    owner_pid: Option<u32>,
}

impl AskRow<'_> {
    fn from_ask(waiting: &PendingAsk) -> AskRow<'_> {
        let PendingAsk { view, cwd, title, owner, queued_decision: left } = waiting;
        AskRow {
            id: &view.ask.id,
            number: view.number,
            session: view.session,
            title,
            cwd: cwd.display().to_string(),
            task: view.task,
            path: &view.path,
            call: &view.ask.call,
            asked_at: view.asked_at,
            until_at: view.ask.until_at,
            subject: &view.ask.subject,
            state: &view.state,
            left: left.as_ref(),
            owner_pid: *owner,
        }
    }
}

pub(super) fn list(
    inbox: &ApprovalInbox<'_>,
    options: &ApprovalListArgs,
    style: Style,
) -> Result<CommandExit, CliError> {
    let waiting = inbox.pending(options.session.as_deref())?;
    if options.json {
        print::json(&waiting.iter().map(AskRow::from_ask).collect::<Vec<_>>());
        return Ok(CommandExit::Success);
    }
    if waiting.is_empty() {
        print::note("nothing waits for you");
        return Ok(CommandExit::Success);
    }
    let now = SystemClock.now();
    for one in &waiting {
        print_heading(one, now, style);
        print::output(format_args!("  in {}", session(one)));
        print_body(one, Some(MAX_SHOWN_CHARS), style);
    }
    let first = &waiting[0];
    print::note(hint(first, &name(first, &waiting)));
    Ok(CommandExit::Success)
}

pub(super) fn show(waiting: &PendingAsk, json: bool, style: Style) -> Result<CommandExit, CliError> {
    if json {
        print::json(&AskRow::from_ask(waiting));
        return Ok(CommandExit::Success);
    }
    let view = &waiting.view;
    let now = SystemClock.now();
    print_heading(waiting, now, style);
    let owner = waiting.owner.map_or_else(|| "nobody".to_owned(), |pid| format!("process {pid}"));
    let rows = [
        ("id", view.ask.id.to_string()),
        ("session", session(waiting)),
        ("folder", escape_invisible(&waiting.cwd.display().to_string())),
        ("run by", owner),
        ("asked", time::format_local(view.asked_at, now)),
    ];
    for (name, value) in rows {
        print::output(format_args!("  {name:<8} {value}"));
    }
    if let Some(until) = view.ask.until_at {
        print::output(format_args!("  {:<8} {}", "deadline", time::format_local(until, now)));
    }
    print_body(waiting, None, style);
    match (&view.state, &waiting.queued_decision) {
        (AskState::Open, None) => print::note(hint(waiting, view.ask.id.short())),
        (AskState::Open, Some(_)) => {}
        (state @ (AskState::Decided { .. } | AskState::Withdrawn), _) => {
            print::output(format_args!("  {} {}", view.ask.id.short(), describe_ask_state(state)));
        }
    }
    Ok(CommandExit::Success)
}

/// The line that names an ask: who asks, since when, until when.
fn print_heading(waiting: &PendingAsk, now: Timestamp, style: Style) {
    let view = &waiting.view;
    let age = time::format_age(view.asked_at, now);
    let path = escape_invisible(&view.path);
    let number = style.paint(TextRole::Accent, &view.number.to_string());
    let id = style.paint(TextRole::Dim, view.ask.id.short());
    print::output(format_args!("{number}  {id}  {age:>3} ago  {path}{}", status_suffix(waiting, now)));
}

/// What to type for one of these: its number, or its id if another has the same number.
fn name(waiting: &PendingAsk, all: &[PendingAsk]) -> String {
    let number = waiting.view.number;
    match all.iter().filter(|other| other.view.number == number).count() {
        0 | 1 => number.to_string(),
        _several => waiting.view.ask.id.short().to_owned(),
    }
}

/// Its session, with enough of what that is about to know it by.
fn session(waiting: &PendingAsk) -> String {
    format!("{}: {}", waiting.view.session, escape_invisible(&print::one_line(&waiting.title, 36)))
}

fn status_suffix(waiting: &PendingAsk, now: Timestamp) -> String {
    match (&waiting.queued_decision, waiting.owner, waiting.view.ask.until_at) {
        _ if waiting.view.state != AskState::Open => String::new(),
        (Some(decision), ..) => {
            format!("  {}; go on with: bosun --resume {}", decision.as_str(), waiting.view.session)
        }
        (None, None, _) => "  (its session is not running)".into(),
        (None, Some(_), None) => String::new(),
        (None, Some(_), Some(until)) => format!("  (denied in {})", time::format_age(now, until)),
    }
}

/// What is asked and why, at most so many characters of it.
fn print_body(waiting: &PendingAsk, most: Option<usize>, style: Style) {
    match &waiting.view.ask.subject {
        AskSubject::Permission { tool, input, reason, rules } => {
            print::output(indented(&style.paint(TextRole::Strong, &escape_invisible(tool))));
            print_call(waiting, input, most, style);
            print::output(indented(&format!("why: {}", truncate_text(waiting, reason, most))));
            for rule in rules {
                print::output(indented(&format!("always: {}", truncate_text(waiting, rule, most))));
            }
        }
        AskSubject::Question { question, choices } => {
            print::output(indented(&truncate_text(waiting, question, most)));
            for (number, choice) in (1..).zip(choices) {
                print::output(indented(&format!("{number}. {}", truncate_text(waiting, choice, most))));
            }
        }
        AskSubject::Plan { summary, plan, actions, recommended, .. } => {
            print::output(indented(&truncate_text(waiting, summary, most)));
            print::output(indented(&truncate_text(waiting, plan, most)));
            for (number, action) in (1..).zip(actions) {
                let mark = if action == recommended { " (recommended)" } else { "" };
                print::output(indented(&format!("{number}. {action}: {}{mark}", action.description())));
            }
        }
    }
}

/// The call itself as people read it, an edit as a diff.
fn print_call(waiting: &PendingAsk, input: &str, most: Option<usize>, style: Style) {
    let columns = print::width().unwrap_or(UNLIMITED_WIDTH);
    let (lines, rest) = chat::call_lines(input, columns, most.unwrap_or(usize::MAX), style);
    lines.iter().for_each(print::output);
    if rest > 0 {
        print::output(format_args!("  {}", more_hint(waiting, rest)));
    }
}

/// The text in full, or its beginning and how to see the rest.
fn truncate_text(waiting: &PendingAsk, text: &str, most: Option<usize>) -> String {
    let shown: String = text.chars().take(most.unwrap_or(usize::MAX)).collect();
    let rest = text.len() - shown.len();
    match rest {
        0 => escape_invisible(&shown),
        rest => format!("{}\n{}", escape_invisible(&shown), more_hint(waiting, rest)),
    }
}

/// How to see what is left out.
fn more_hint(waiting: &PendingAsk, rest: usize) -> String {
    format!("… {rest} more bytes: bosun approvals show {}", waiting.view.ask.id.short())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// What to type next.
fn hint(waiting: &PendingAsk, id: &str) -> String {
    match waiting.view.ask.subject {
        AskSubject::Permission { .. } => format!("hint: bosun approvals allow {id}, or deny, or always"),
        AskSubject::Question { .. } => format!("hint: bosun approvals answer {id} \"…\", or deny"),
        AskSubject::Plan { .. } => {
            format!("hint: bosun approvals answer {id} autopilot, a number, or what should be different")
        }
    }
}
