//! Prints sessions as tables.

use std::collections::HashSet;

use client::{SessionHandle, SessionQuery, SessionRow};
use host::{Clock, Home, SystemClock};
use protocol::api::{SessionView, TaskView, TasksParams};
use protocol::{SessionId, Timestamp};
use serde::Serialize;
use tui::money::Money;
use tui::print;
use unicode_width::UnicodeWidthStr;

use crate::args::SessionListArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup;

/// The default number of sessions in a table.
const DEFAULT_LIMIT: u64 = 50;

const HEADERS: [&str; 7] = ["session", "state", "age", "model", "cost", "folder", "title"];

/// The columns that a narrow terminal leaves out, in this order, to make room for the title.
const OPTIONAL: [&str; 4] = ["model", "folder", "cost", "age"];

/// The width of a title for which other columns are left out.
const MIN_TITLE_COLUMNS: usize = 24;

/// The maximum width of a folder, of which the end is kept.
const MAX_FOLDER_COLUMNS: usize = 28;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionListRow {
    id: SessionId,
    state: String,
    cwd: String,
    title: String,
    model: String,
    /// Null if some of the usage has no price.
    cost_usd: Money,
    tokens: u64,
    /// The process that runs it now.
    owner_pid: Option<u32>,
    created_at: u64,
    updated_at: u64,
}

impl From<SessionRow> for SessionListRow {
    fn from(row: SessionRow) -> SessionListRow {
        SessionListRow {
            id: row.id,
            state: row.state,
            cwd: row.cwd,
            title: row.title,
            model: row.model,
            cost_usd: Money::new(row.spent.micros, row.priced),
            tokens: row.spent.tokens,
            owner_pid: row.owner_pid,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
        }
    }
}

pub(super) fn list(home: &Home, options: &SessionListArgs) -> Result<CommandExit, CliError> {
    let here = if options.here { Some(setup::working_folder(None)?.display().to_string()) } else { None };
    let limit = options.limit.or(if options.json { None } else { Some(DEFAULT_LIMIT) });
    let query = SessionQuery { cwd: here, state: None, offset: options.offset, limit };
    let page = client::sessions::list(home, &query)?;
    let shown = options.offset.saturating_add(page.rows.len() as u64);
    let rows: Vec<SessionListRow> = page.rows.into_iter().map(SessionListRow::from).collect();
    if options.json {
        print::json(&rows);
        return Ok(CommandExit::Success);
    }
    if page.total == 0 {
        print::note("no sessions; start one with: bosun -p \"…\"");
        return Ok(CommandExit::Success);
    }
    table(&rows, SystemClock.now(), print::width()).into_iter().for_each(print::row);
    if shown < page.total {
        let older = page.total - shown;
        print::note(format_args!("{older} older sessions are not listed: --offset {shown} lists them"));
    }
    Ok(CommandExit::Success)
}

/// The rows under their headings, each column as wide as its widest cell, for a terminal of this width.
fn table(rows: &[SessionListRow], now: Timestamp, terminal: Option<usize>) -> Vec<String> {
    let length = distinct_id_length(rows);
    let cells = |row: &SessionListRow| {
        [
            row.id.to_string().chars().take(length).collect(),
            row.state.clone(),
            protocol::format_age(Timestamp(row.updated_at), now),
            print::sanitize(&print::one_line(&protocol::model_display_name(&row.model), 28)),
            row.cost_usd.to_string(),
            print::sanitize(&path_end(&row.cwd, MAX_FOLDER_COLUMNS)),
            print::sanitize(&print::one_line(&row.title, 60)),
        ]
    };
    let lines: Vec<[String; 7]> = std::iter::once(HEADERS.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    let widths: [usize; 7] =
        std::array::from_fn(|column| lines.iter().map(|cells| cells[column].width()).max().unwrap_or(0));
    let shown = shown_columns(&widths, terminal);
    let line = |cells: &[String; 7]| {
        let align = |column: &usize| match HEADERS[*column] {
            "age" | "cost" => format!("{:>1$}", cells[*column], widths[*column]),
            _words => print::fit_cell(&cells[*column], widths[*column]),
        };
        let aligned: Vec<String> = shown.iter().map(align).collect();
        aligned.join("  ").trim_end().to_owned()
    };
    lines.iter().map(line).collect()
}

/// The columns that fit a terminal together with the beginning of the title.
fn shown_columns(widths: &[usize; 7], terminal: Option<usize>) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..7).collect();
    let needed = |shown: &[usize]| {
        let width = |column: &usize| match HEADERS[*column] {
            "title" => widths[*column].min(MIN_TITLE_COLUMNS),
            _other => widths[*column] + 2,
        };
        shown.iter().map(width).sum::<usize>()
    };
    for optional in OPTIONAL {
        if terminal.is_none_or(|columns| needed(&shown) <= columns) {
            break;
        }
        shown.retain(|column| HEADERS[*column] != optional);
    }
    shown
}

/// The length at which the ids on the page are distinct. An id begins with the time of its creation.
fn distinct_id_length(rows: &[SessionListRow]) -> usize {
    const TIME_LENGTH: usize = "ses-0123456789ab".len();
    const FULL_LENGTH: usize = "ses-0123456789ab7def0123456789abcdef".len();
    let is_distinct = |length: &usize| {
        let mut seen = HashSet::new();
        rows.iter().all(|row| seen.insert(row.id.to_string().chars().take(*length).collect::<String>()))
    };
    [TIME_LENGTH, TIME_LENGTH + 8].into_iter().find(is_distinct).unwrap_or(FULL_LENGTH)
}

/// The end of a path, which is more specific than its start.
fn path_end(path: &str, columns: usize) -> String {
    let length = path.chars().count();
    if length <= columns {
        return path.to_owned();
    }
    let end: String = path.chars().skip(length + 1 - columns).collect();
    format!("…{end}")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionDetails {
    session: SessionView,
    plan: Option<String>,
    tasks: Vec<TaskView>,
}

pub(super) fn show(home: &Home, id: SessionId, json: bool) -> Result<CommandExit, CliError> {
    let handle = SessionHandle::new(home, id);
    let session = handle.view()?;
    let tasks = handle.tasks(&TasksParams::all_tasks())?.tasks;
    let plan = handle
        .plan()
        .map_err(|error| CliError::failed(format!("cannot read {}: {error}", home.plan_file(id).display())))?;
    if json {
        print::json(&SessionDetails { session, plan, tasks });
        return Ok(CommandExit::Success);
    }
    print_session(&session);
    for task in tasks {
        let state = task.state.as_str();
        let activity = print::sanitize(&print::one_line(task.intent.as_deref().unwrap_or(&task.description), 60));
        let turns = print::pluralize(task.turns as usize, "turn");
        print::row(format_args!("  {:<24} {state:<12} {turns:>10}  {activity}", task.path));
    }
    if let Some(plan) = plan {
        print::output(format_args!("plan\n\n{}", print::sanitize(plan.trim_end())));
    }
    Ok(CommandExit::Success)
}

/// How a session was left that is now resumed.
pub(crate) fn describe_resumed(session: &SessionView, now: Timestamp) -> String {
    let ages = [session.created_at, session.updated_at].map(|at| protocol::format_age(at, now));
    format_resumed(session.turns, ages)
}

fn format_resumed(turns: u64, [started, used]: [String; 2]) -> String {
    let turns = print::pluralize(usize::try_from(turns).unwrap_or(usize::MAX), "turn");
    format!("resumed: a session of {turns}, started {started} ago, last used {used} ago")
}

fn print_session(session: &SessionView) {
    let owner = session.owner_pid.map_or_else(|| "no process".to_owned(), |pid| format!("process {pid}"));
    let outcome = session.last_outcome.as_ref().map_or("none yet", |outcome| outcome.as_str());
    let cost = Money::new(session.spent.micros, session.priced);
    let rows = [
        ("session", session.id.to_string()),
        ("title", print::sanitize(&print::one_line(&session.title, 70))),
        ("folder", print::sanitize(&session.cwd)),
        ("model", print::sanitize(&protocol::model_display_name(&session.model))),
        ("mode", session.mode.to_string()),
        ("state", session.state.as_str().to_owned()),
        ("last outcome", outcome.to_owned()),
        ("run by", owner),
        ("started", session.created_at.to_string()),
        ("last event", session.updated_at.to_string()),
        ("events", session.events.to_string()),
        ("turns", session.turns.to_string()),
        ("tokens", format_spent(session.spent.tokens.to_string(), session.budget.tokens.map(|max| max.to_string()))),
        ("cost", format_spent(cost.to_string(), session.budget.micros.map(|max| Money::Known(max).to_string()))),
    ];
    for (name, value) in rows {
        print::output(format_args!("{name:<13} {value}"));
    }
    print::output("tasks");
}

/// The amount spent, and the budget if there is one.
fn format_spent(spent: String, max: Option<String>) -> String {
    match max {
        Some(max) => format!("{spent} of {max}"),
        None => spent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_terminals_leave_columns_out_rather_than_the_title() {
        let row = SessionListRow {
            id: SessionId::new(uuid::Uuid::nil()),
            state: "idle".into(),
            cwd: "/home/ann/shop".into(),
            title: "why does the login test fail?".into(),
            model: "anthropic/claude-sonnet-5-5".into(),
            cost_usd: Money::new(400, true),
            tokens: 1,
            owner_pid: None,
            created_at: 0,
            updated_at: 0,
        };
        let headings = |terminal| table(std::slice::from_ref(&row), Timestamp(0), terminal)[0].clone();
        let columns = |terminal| headings(terminal).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(columns(None), HEADERS);
        assert_eq!(columns(Some(200)), HEADERS);
        assert_eq!(columns(Some(90)), ["session", "state", "age", "cost", "folder", "title"]);
        assert_eq!(columns(Some(40)), ["session", "state", "title"]);
    }

    #[test]
    fn resumed_session_is_described_by_its_age_and_length() {
        let ages = ["3h", "5m"].map(str::to_owned);
        assert_eq!(format_resumed(6, ages), "resumed: a session of 6 turns, started 3h ago, last used 5m ago");
    }
}
