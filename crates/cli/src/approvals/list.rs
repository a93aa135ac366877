//! What waits for a person, as text and as JSON.

use host::{Clock, SystemClock};
use protocol::api::AskState;
use protocol::{AskId, At, CallId, Decision, SessionId, Subject, TaskId};
use serde::Serialize;

use super::inbox::{Inbox, Waiting, over};
use crate::args::WaitingArgs;
use crate::exact::exact;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Role, Style};
use crate::{print, talk, time};

/// Most characters of a call that a list shows.
const SHOWN: usize = 1_000;

/// How wide lines are that no terminal limits.
const UNLIMITED: usize = usize::MAX / 2;

/// One ask as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: &'a AskId,
    number: u64,
    session: SessionId,
    title: &'a str,
    cwd: String,
    task: TaskId,
    path: &'a str,
    call: &'a CallId,
    asked_at: At,
    until_at: Option<At>,
    subject: &'a Subject,
    state: &'a AskState,
    /// What was decided and is left for the session's next process.
    left: Option<&'a Decision>,
    owner_pid: Option<u32>,
}

impl Row<'_> {
    fn of(waiting: &Waiting) -> Row<'_> {
        let Waiting { view, cwd, title, owner, left } = waiting;
        Row {
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

pub(super) fn list(inbox: &Inbox<'_>, options: &WaitingArgs, style: Style) -> Result<Exit, Failure> {
    let waiting = inbox.waiting(options.session.as_deref())?;
    if options.json {
        print::json(&waiting.iter().map(Row::of).collect::<Vec<_>>());
        return Ok(Exit::Success);
    }
    if waiting.is_empty() {
        print::note("nothing waits for you");
        return Ok(Exit::Success);
    }
    let now = SystemClock.now();
    for one in &waiting {
        head(one, now, style);
        print::answer(format_args!("  in {}", session(one)));
        body(one, Some(SHOWN), style);
    }
    let first = &waiting[0];
    print::note(hint(first, &name(first, &waiting)));
    Ok(Exit::Success)
}

pub(super) fn show(waiting: &Waiting, json: bool, style: Style) -> Result<Exit, Failure> {
    if json {
        print::json(&Row::of(waiting));
        return Ok(Exit::Success);
    }
    let view = &waiting.view;
    let now = SystemClock.now();
    head(waiting, now, style);
    let owner = waiting.owner.map_or_else(|| "nobody".to_owned(), |pid| format!("process {pid}"));
    let rows = [
        ("id", view.ask.id.to_string()),
        ("session", session(waiting)),
        ("folder", exact(&waiting.cwd.display().to_string())),
        ("run by", owner),
        ("asked", time::local(view.asked_at, now)),
    ];
    for (name, value) in rows {
        print::answer(format_args!("  {name:<8} {value}"));
    }
    if let Some(until) = view.ask.until_at {
        print::answer(format_args!("  {:<8} {}", "deadline", time::local(until, now)));
    }
    body(waiting, None, style);
    match (&view.state, &waiting.left) {
        (AskState::Open, None) => print::note(hint(waiting, view.ask.id.short())),
        (AskState::Open, Some(_)) => {}
        (state @ (AskState::Decided { .. } | AskState::Withdrawn), _) => {
            print::answer(format_args!("  {} {}", view.ask.id.short(), over(state)));
        }
    }
    Ok(Exit::Success)
}

/// The line that names an ask: who asks, since when, until when.
fn head(waiting: &Waiting, now: At, style: Style) {
    let view = &waiting.view;
    let age = time::ago(view.asked_at, now);
    let path = exact(&view.path);
    let number = style.paint(Role::Accent, &view.number.to_string());
    let id = style.paint(Role::Dim, view.ask.id.short());
    print::answer(format_args!("{number}  {id}  {age:>3} ago  {path}{}", standing(waiting, now)));
}

/// What to type for one of these: its number, or its id if another has the same number.
fn name(waiting: &Waiting, all: &[Waiting]) -> String {
    let number = waiting.view.number;
    match all.iter().filter(|other| other.view.number == number).count() {
        0 | 1 => number.to_string(),
        _several => waiting.view.ask.id.short().to_owned(),
    }
}

/// Its session, with enough of what that is about to know it by.
fn session(waiting: &Waiting) -> String {
    format!("{}: {}", waiting.view.session, exact(&print::one_line(&waiting.title, 36)))
}

fn standing(waiting: &Waiting, now: At) -> String {
    match (&waiting.left, waiting.owner, waiting.view.ask.until_at) {
        _ if waiting.view.state != AskState::Open => String::new(),
        (Some(decision), ..) => {
            format!("  {}; go on with: bosun --resume {}", decision.word(), waiting.view.session)
        }
        (None, None, _) => "  (its session is not running)".into(),
        (None, Some(_), None) => String::new(),
        (None, Some(_), Some(until)) => format!("  (denied in {})", time::ago(now, until)),
    }
}

/// What is asked and why, at most so many characters of it.
fn body(waiting: &Waiting, most: Option<usize>, style: Style) {
    match &waiting.view.ask.subject {
        Subject::Permission { tool, input, reason, rules } => {
            print::answer(indented(&style.paint(Role::Strong, &exact(tool))));
            call(waiting, input, most, style);
            print::answer(indented(&format!("why: {}", cut(waiting, reason, most))));
            for rule in rules {
                print::answer(indented(&format!("always: {}", cut(waiting, rule, most))));
            }
        }
        Subject::Question { question, choices } => {
            print::answer(indented(&cut(waiting, question, most)));
            for (number, choice) in (1..).zip(choices) {
                print::answer(indented(&format!("{number}. {}", cut(waiting, choice, most))));
            }
        }
        Subject::Plan { summary, plan, actions, recommended, .. } => {
            print::answer(indented(&cut(waiting, summary, most)));
            print::answer(indented(&cut(waiting, plan, most)));
            for (number, action) in (1..).zip(actions) {
                let mark = if action == recommended { " (recommended)" } else { "" };
                print::answer(indented(&format!("{number}. {action}: {}{mark}", action.about())));
            }
        }
    }
}

/// The call itself as people read it, an edit as a diff.
fn call(waiting: &Waiting, input: &str, most: Option<usize>, style: Style) {
    let columns = print::width().unwrap_or(UNLIMITED);
    let (lines, rest) = talk::call_lines(input, columns, most.unwrap_or(usize::MAX), style);
    lines.iter().for_each(print::answer);
    if rest > 0 {
        print::answer(format_args!("  {}", more(waiting, rest)));
    }
}

/// The text in full, or its beginning and how to see the rest.
fn cut(waiting: &Waiting, text: &str, most: Option<usize>) -> String {
    let shown: String = text.chars().take(most.unwrap_or(usize::MAX)).collect();
    let rest = text.len() - shown.len();
    match rest {
        0 => exact(&shown),
        rest => format!("{}\n{}", exact(&shown), more(waiting, rest)),
    }
}

/// How to see what is left out.
fn more(waiting: &Waiting, rest: usize) -> String {
    format!("… {rest} more bytes: bosun approvals show {}", waiting.view.ask.id.short())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// What to type next.
fn hint(waiting: &Waiting, id: &str) -> String {
    match waiting.view.ask.subject {
        Subject::Permission { .. } => format!("hint: bosun approvals allow {id}, or deny, or always"),
        Subject::Question { .. } => format!("hint: bosun approvals answer {id} \"…\", or deny"),
        Subject::Plan { .. } => {
            format!("hint: bosun approvals answer {id} autopilot, a number, or what should be different")
        }
    }
}
