//! How far a fleet is, from any terminal, and its end.

use std::path::Path;

use host::Home;
use protocol::api::{Command, TasksParams};
use protocol::{Event, FleetEnd, Kind, SessionId};
use store::{Index, Reader, StoreError};

use super::account::Account;
use super::lines;
use super::report::table;
use crate::args::FleetChosenArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live::{self, Board};
use crate::setup::Setup;
use crate::{print, run, sessions, setup};

/// Most sessions of a folder that are looked into for a fleet.
const CANDIDATES: usize = 20;

/// Tells how far a fleet is.
pub(super) fn tell(options: &FleetChosenArgs) -> Result<Exit, Failure> {
    let home = Setup::read()?.home;
    let id = choose(&home, options.id.as_deref(), None)?;
    let reader = Reader::open(&home, id)?;
    let account = Account::read(&reader, id)?;
    let account = account.ok_or_else(|| Failure::usage(format!("no fleet has worked in session {id}")))?;
    if options.json {
        print::json(&account);
        return Ok(Exit::Success);
    }
    if account.end.is_none() {
        live::print_board(&Board::read_now(&reader)?.0);
    }
    print::answer(format_args!("fleet in {id}: {}", print::plain(&print::one_line(&account.terms.goal, 200))));
    print::answer(match (account.end, account.owner_pid) {
        (Some(end), _) => lines::ended(end).to_owned(),
        (None, Some(pid)) => format!("at work in process {pid}"),
        (None, None) => format!("interrupted: no process runs it; resume it: bosun fleet resume {id}"),
    });
    table(&account);
    Ok(Exit::Success)
}

/// Stops a fleet that another process runs.
pub(super) async fn stop(options: &FleetChosenArgs) -> Result<Exit, Failure> {
    let home = Setup::read()?.home;
    let id = choose(&home, options.id.as_deref(), None)?;
    sessions::command(&home, id, Command::StopFleet).await
}

/// The session that is meant: the one that is named, or the newest of a folder with a fleet.
pub(super) fn choose(home: &Home, given: Option<&str>, folder: Option<&Path>) -> Result<SessionId, Failure> {
    if let Some(prefix) = given {
        return run::find(home, prefix);
    }
    let cwd = setup::folder(folder)?.display().to_string();
    let rows = Index::open(home)?.agree(home)?.list(Some(&cwd))?;
    let fleet = |id: SessionId| {
        let reader = Reader::open(home, id).ok()?;
        // Todos alone are no fleet: a prompt may have left them, or an owner that died before the fleet began.
        let has_fleet = latest(&reader).ok()?.is_some();
        has_fleet.then(|| reader.session_view().ok()).flatten().map(|view| (view.updated_at, id))
    };
    let newest = rows.iter().take(CANDIDATES).filter_map(|row| fleet(row.id)).max();
    newest.map(|(_, id)| id).ok_or_else(|| {
        Failure::usage(format!("no fleet has worked in {cwd}"))
            .hint("name its session; `bosun sessions` lists them, and bosun fleet \"GOAL\" begins one")
    })
}

/// How the latest fleet of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latest {
    Unfinished,
    Ended(FleetEnd),
}

/// How the latest fleet is, if there ever was one; the log of the root tells.
fn latest(reader: &Reader) -> Result<Option<Latest>, StoreError> {
    let params = TasksParams { kind: Some(Kind::Main), all: true, ..TasksParams::every() };
    let Some(root) = reader.tasks(&params)?.tasks.first().map(|root| root.id) else { return Ok(None) };
    let moved = |event: &Event| match event {
        Event::FleetBegan(_) => Some(Latest::Unfinished),
        Event::FleetEnded { end } => Some(Latest::Ended(*end)),
        _other => None,
    };
    let log = reader.task_events(root)?;
    Ok(log.iter().rev().find_map(|envelope| moved(&envelope.entry.event)))
}

/// Whether the latest fleet of a session did everything that it was to do.
pub(crate) fn is_done(reader: &Reader) -> Result<bool, StoreError> {
    Ok(latest(reader)? == Some(Latest::Ended(FleetEnd::Done)))
}

/// Tells whoever goes on with a session that a fleet waits in it.
pub(crate) fn tell_unfinished(home: &Home, id: SessionId) {
    let latest = Reader::open(home, id).and_then(|reader| latest(&reader));
    if latest.is_ok_and(|latest| latest == Some(Latest::Unfinished)) {
        print::note(format_args!("a fleet is not done in this session; go on with it: bosun fleet resume {id}"));
    }
}
