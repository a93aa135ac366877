//! Lists sessions by what they need.

use std::time::Duration;

use client::{SessionHandle, SessionQuery, SessionRow};
use host::{Clock, Home, SystemClock};
use protocol::api::TasksParams;
use protocol::{SessionId, Timestamp};
use serde::Serialize;
use tui::money::Money;
use tui::print;
use unicode_width::UnicodeWidthStr;

use super::activity::{AgentActivity, AgentState, activity};
use crate::args::AgentListArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::{serve, setup};

/// How long a session that rests stays in the list.
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

const HEADERS: [&str; 6] = ["session", "state", "runs in", "age", "cost", "title"];

/// The maximum width of a title.
const MAX_TITLE_COLUMNS: usize = 48;

/// What runs a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum SessionOwner {
    /// The session host.
    Background,
    /// Another process, such as a conversation in a terminal.
    Process,
}

/// A session of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentRow {
    pub(super) id: SessionId,
    pub(super) state: AgentState,
    /// Why it is in this state.
    reason: String,
    /// What runs it, if anything does.
    runs_in: Option<SessionOwner>,
    pid: Option<u32>,
    title: String,
    cwd: String,
    model: String,
    /// Null if some of the usage has no price.
    cost_usd: Money,
    tokens: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// Prints the sessions, those that need the user first.
pub(super) async fn list(home: &Home, options: &AgentListArgs) -> Result<CommandExit, CliError> {
    let (rows, unreadable) = read(home, options).await?;
    unreadable.iter().for_each(|problem| print::error(problem));
    if options.json {
        print::json(&rows);
    } else if rows.is_empty() {
        print::note("no sessions; start one with: bosun agents start \"…\"");
    } else {
        table(&rows, SystemClock.now()).into_iter().for_each(print::row);
    }
    Ok(if unreadable.is_empty() { CommandExit::Success } else { CommandExit::Failed })
}

/// The sessions, those that need the user first, then the newest first; and those that cannot be read.
pub(super) async fn read(home: &Home, options: &AgentListArgs) -> Result<(Vec<AgentRow>, Vec<String>), CliError> {
    let cwd = if options.here { Some(setup::working_folder(None)?.display().to_string()) } else { None };
    let host = serve::running_host(home).await?.map(|view| view.pid);
    let now = SystemClock.now();
    let is_recent = |row: &SessionRow| row.updated_at.0.saturating_add(RECENT.as_millis() as u64) >= now.0;
    let found = client::sessions::list(home, &SessionQuery { cwd, ..SessionQuery::default() })?.rows;
    let wanted = found.into_iter().filter(|row| options.all || row.owner_pid.is_some() || is_recent(row));
    let (mut rows, mut unreadable) = (Vec::new(), Vec::new());
    for row in wanted {
        match read_row(home, &row, host) {
            Ok(row) => rows.push(row),
            Err(error) => unreadable.push(format!("{} is not listed: {error}", row.id)),
        }
    }
    // Sessions with the same state stay in their order.
    rows.sort_by_key(|row| row.state);
    Ok((rows, unreadable))
}

fn read_row(home: &Home, row: &SessionRow, host: Option<u32>) -> Result<AgentRow, client::StoreError> {
    let handle = SessionHandle::new(home, row.id);
    let list = handle.task_list(&TasksParams::all_tasks())?;
    let AgentActivity { state, reason } = activity(&handle, &list)?;
    let session = list.session;
    let owner = |pid| if Some(pid) == host { SessionOwner::Background } else { SessionOwner::Process };
    Ok(AgentRow {
        id: session.id,
        state,
        reason,
        runs_in: session.owner_pid.map(owner),
        pid: session.owner_pid,
        title: session.title,
        cwd: session.cwd,
        model: session.model,
        cost_usd: Money::new(session.spent.micros, session.priced),
        tokens: session.spent.tokens,
        created_at: session.created_at,
        updated_at: session.updated_at,
    })
}

/// The rows under their headings, with the reason of each state below its row.
fn table(rows: &[AgentRow], now: Timestamp) -> Vec<String> {
    let cells = |row: &AgentRow| {
        let runs_in = match row.runs_in {
            Some(SessionOwner::Background) => "background".to_owned(),
            Some(SessionOwner::Process) => row.pid.map(|pid| format!("process {pid}")).unwrap_or_default(),
            None => "-".to_owned(),
        };
        [
            row.id.to_string(),
            row.state.as_str().to_owned(),
            runs_in,
            protocol::format_age(row.updated_at, now),
            row.cost_usd.to_string(),
            print::sanitize(&print::one_line(&row.title, MAX_TITLE_COLUMNS)),
        ]
    };
    let lines: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = lines.iter().map(|cells| cells[column].width());
        cells.chain([HEADERS[column].width()]).max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |cells: &[String; 6]| {
        let align = |column: usize| match HEADERS[column] {
            "age" | "cost" => format!("{:>1$}", cells[column], widths[column]),
            _words => print::fit_cell(&cells[column], widths[column]),
        };
        (0..6).map(align).collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut shown = vec![line(&HEADERS.map(str::to_owned))];
    for (row, cells) in rows.iter().zip(&lines) {
        shown.push(line(cells));
        shown.extend(Some(format!("    {}", row.reason)).filter(|_| !row.reason.is_empty()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_state_is_below_its_row() {
        let row = |state, reason: &str| AgentRow {
            id: SessionId::new(uuid::Uuid::nil()),
            state,
            reason: reason.into(),
            runs_in: Some(SessionOwner::Background),
            pid: Some(7),
            title: "fix the parser".into(),
            cwd: "/w".into(),
            model: "script/a.yaml".into(),
            cost_usd: Money::new(400, true),
            tokens: 1,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        };
        let rows = [row(AgentState::NeedsYou, "asks to run: `make`"), row(AgentState::Done, "")];
        let lines = table(&rows, Timestamp(60_000));
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[1].contains("needs you") && lines[1].contains("background"), "{lines:?}");
        assert_eq!(lines[2], "    asks to run: `make`");
    }

    #[test]
    fn states_are_sorted_by_urgency() {
        let mut states = [AgentState::Done, AgentState::Working, AgentState::NeedsYou, AgentState::Failed];
        states.sort();
        assert_eq!(states, [AgentState::NeedsYou, AgentState::Working, AgentState::Failed, AgentState::Done]);
    }
}
