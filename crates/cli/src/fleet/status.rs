//! `bosun fleet status` and `bosun fleet stop`, from any terminal.

use std::path::Path;
use std::time::Duration;

use client::{SessionHandle, SessionQuery};
use host::Home;
use protocol::SessionId;
use protocol::api::{FleetStatusResult, Nothing, SessionCommand, calls};
use tui::live::{self, FleetBoard};
use tui::print;

use super::display;
use super::progress::FleetProgress;
use super::report::{print_merges, print_table};
use crate::args::FleetSelectArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::sessions::{DeliveredCommand, give_command};
use crate::setup::Setup;
use crate::{run, setup};

/// How long reading a session's file may take.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of a folder's sessions that are searched for a fleet.
const MAX_CANDIDATES: u64 = 20;

/// Prints the progress of a fleet.
pub(super) async fn print_status(options: &FleetSelectArgs) -> Result<CommandExit, CliError> {
    let home = Setup::read()?.home;
    let id = choose_session(&home, options.id.as_deref(), None)?;
    let session = SessionHandle::new(&home, id);
    let progress = read_progress(&session).await?;
    let progress = progress.ok_or_else(|| CliError::usage(format!("session {id} has no fleet")))?;
    if options.json {
        print::json(&progress);
        return Ok(CommandExit::Success);
    }
    if progress.end.is_none() {
        live::print_board(&FleetBoard::read_now(&session)?.0);
    }
    print::output(format_args!("fleet in {id}: {}", print::sanitize(&print::one_line(&progress.terms.goal, 200))));
    print::output(match (progress.end, progress.owner_pid) {
        (Some(end), _) => display::describe_end(end).to_owned(),
        (None, Some(pid)) => format!("at work in process {pid}"),
        (None, None) => format!("interrupted: no process runs it; resume it with: bosun fleet resume {id}"),
    });
    print_table(&progress);
    print_merges(&progress);
    Ok(CommandExit::Success)
}

/// The progress of a session's latest fleet, if it had one.
pub(super) async fn read_progress(session: &SessionHandle) -> Result<Option<FleetProgress>, CliError> {
    let FleetStatusResult { fleet } = session.call::<calls::SessionFleetGet>(&Nothing {}, READ_TIMEOUT).await?;
    Ok(fleet.map(FleetProgress::from))
}

/// Stops a fleet that another process runs, or that no process runs any more.
pub(super) async fn stop(options: &FleetSelectArgs) -> Result<CommandExit, CliError> {
    let home = Setup::read()?.home;
    let id = choose_session(&home, options.id.as_deref(), None)?;
    match give_command(&home, id, &SessionCommand::StopFleet).await? {
        DeliveredCommand::Applied => print::note("delivered"),
        DeliveredCommand::Queued => print::note(format_args!(
            "the fleet in {id} is stopped; no process was running it; resume it with: bosun fleet resume {id}"
        )),
        DeliveredCommand::NothingToDo => print::note(format_args!("no fleet is at work in {id}")),
    }
    Ok(CommandExit::Success)
}

/// The named session, or the newest session with a fleet in the folder.
pub(super) fn choose_session(home: &Home, given: Option<&str>, folder: Option<&Path>) -> Result<SessionId, CliError> {
    if let Some(prefix) = given {
        return run::find_session(home, prefix);
    }
    let cwd = setup::working_folder(folder)?.display().to_string();
    let query = SessionQuery { cwd: Some(cwd.clone()), limit: Some(MAX_CANDIDATES), ..SessionQuery::default() };
    let rows = client::sessions::list(home, &query)?.rows;
    let updated_fleet = |id: SessionId| {
        let session = SessionHandle::new(home, id);
        // Todos alone are not a fleet: a prompt may have left them, or a process that died before the fleet started.
        let has_fleet = session.latest_fleet().ok()?.is_some();
        has_fleet.then(|| session.view().ok()).flatten().map(|view| (view.updated_at, id))
    };
    let newest = rows.iter().filter_map(|row| updated_fleet(row.id)).max();
    newest.map(|(_, id)| id).ok_or_else(|| {
        CliError::usage(format!("there is no fleet in {cwd}"))
            .with_hint("name its session; `bosun sessions` lists them, and bosun fleet \"GOAL\" starts one")
    })
}
