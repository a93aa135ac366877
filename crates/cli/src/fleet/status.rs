//! How far a fleet is, from any terminal, and its end.

use std::path::Path;

use host::Home;
use protocol::api::{SessionCommand, TasksParams};
use protocol::{Event, FleetEnd, SessionId, TaskType};
use store::{SessionIndex, SessionReader, StoreError};

use super::display;
use super::progress::FleetProgress;
use super::report::print_table;
use crate::args::FleetSelectArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::live::{self, FleetBoard};
use crate::setup::Setup;
use crate::{print, run, sessions, setup};

/// Most sessions of a folder that are looked into for a fleet.
const MAX_CANDIDATES: usize = 20;

/// Tells how far a fleet is.
pub(super) fn print_status(options: &FleetSelectArgs) -> Result<CommandExit, CliError> {
    let home = Setup::read()?.home;
    let id = choose_session(&home, options.id.as_deref(), None)?;
    let reader = SessionReader::open(&home, id)?;
    let account = FleetProgress::read(&reader, id)?;
    let account = account.ok_or_else(|| CliError::usage(format!("no fleet has worked in session {id}")))?;
    if options.json {
        print::json(&account);
        return Ok(CommandExit::Success);
    }
    if account.end.is_none() {
        live::print_board(&FleetBoard::read_now(&reader)?.0);
    }
    print::output(format_args!("fleet in {id}: {}", print::sanitize(&print::one_line(&account.terms.goal, 200))));
    print::output(match (account.end, account.owner_pid) {
        (Some(end), _) => display::describe_end(end).to_owned(),
        (None, Some(pid)) => format!("at work in process {pid}"),
        (None, None) => format!("interrupted: no process runs it; resume it: bosun fleet resume {id}"),
    });
    print_table(&account);
    Ok(CommandExit::Success)
}

/// Stops a fleet that another process runs.
pub(super) async fn stop(options: &FleetSelectArgs) -> Result<CommandExit, CliError> {
    let home = Setup::read()?.home;
    let id = choose_session(&home, options.id.as_deref(), None)?;
    sessions::send_command(&home, id, SessionCommand::StopFleet).await
}

/// The session that is meant: the one that is named, or the newest of a folder with a fleet.
pub(super) fn choose_session(home: &Home, given: Option<&str>, folder: Option<&Path>) -> Result<SessionId, CliError> {
    if let Some(prefix) = given {
        return run::find_session(home, prefix);
    }
    let cwd = setup::folder(folder)?.display().to_string();
    let rows = SessionIndex::open(home)?.reconcile(home)?.list(Some(&cwd))?;
    let fleet = |id: SessionId| {
        let reader = SessionReader::open(home, id).ok()?;
        // Todos alone are no fleet: a prompt may have left them, or an owner that died before the fleet began.
        let has_fleet = latest_fleet(&reader).ok()?.is_some();
        has_fleet.then(|| reader.session_view().ok()).flatten().map(|view| (view.updated_at, id))
    };
    let newest = rows.iter().take(MAX_CANDIDATES).filter_map(|row| fleet(row.id)).max();
    newest.map(|(_, id)| id).ok_or_else(|| {
        CliError::usage(format!("no fleet has worked in {cwd}"))
            .with_hint("name its session; `bosun sessions` lists them, and bosun fleet \"GOAL\" begins one")
    })
}

/// How the latest fleet of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LatestFleetStatus {
    Unfinished,
    Ended(FleetEnd),
}

/// How the latest fleet is, if there ever was one; the log of the root tells.
fn latest_fleet(reader: &SessionReader) -> Result<Option<LatestFleetStatus>, StoreError> {
    let params = TasksParams { kind: Some(TaskType::Main), all: true, ..TasksParams::all_tasks() };
    let Some(root) = reader.tasks(&params)?.tasks.first().map(|root| root.id) else { return Ok(None) };
    let moved = |event: &Event| match event {
        Event::FleetBegan(_) => Some(LatestFleetStatus::Unfinished),
        Event::FleetEnded { end } => Some(LatestFleetStatus::Ended(*end)),
        _other => None,
    };
    let log = reader.task_events(root)?;
    Ok(log.iter().rev().find_map(|envelope| moved(&envelope.entry.event)))
}

/// Whether the latest fleet of a session did everything that it was to do.
pub(crate) fn is_done(reader: &SessionReader) -> Result<bool, StoreError> {
    Ok(latest_fleet(reader)? == Some(LatestFleetStatus::Ended(FleetEnd::Done)))
}

/// Tells whoever goes on with a session that a fleet waits in it.
pub(crate) fn note_unfinished_fleet(home: &Home, id: SessionId) {
    let latest = SessionReader::open(home, id).and_then(|reader| latest_fleet(&reader));
    if latest.is_ok_and(|latest| latest == Some(LatestFleetStatus::Unfinished)) {
        print::note(format_args!("a fleet is not done in this session; go on with it: bosun fleet resume {id}"));
    }
}
