//! Shows and ends the session host.

use host::Home;
use protocol::api::{HeldSessionView, HostView, NotAdopted, Nothing, RunPhase, calls};
use server::HOST_LOCK;
use tui::print;

use super::{claim, running_host};
use crate::error::CliError;
use crate::exit::CommandExit;

/// Prints the session host and its sessions.
pub(super) async fn show(home: &Home, json: bool) -> Result<CommandExit, CliError> {
    match running_host(home).await? {
        view if json => print::json(&view),
        Some(view) => print_host(&view),
        None => print::note("the session host is not running; a command that needs it starts it"),
    }
    Ok(CommandExit::Success)
}

fn print_host(view: &HostView) {
    let HostView { pid, version, program, started_at, url, sessions, not_adopted } = view;
    print::row(format_args!("process {pid}, version {version}, since {started_at}"));
    print::row(format_args!("program {}", program.path));
    if let Some(url) = url {
        print::row(format_args!("listening on {url}"));
    }
    print::row(format_args!("{} kept", print::pluralize(sessions.len(), "session")));
    for HeldSessionView { id, phase } in sessions {
        print::row(format_args!("  {id}  {}", phase_name(*phase)));
    }
    for NotAdopted { id, why } in not_adopted {
        print::row(format_args!("  {id}  not resumed: {}", print::sanitize(why)));
    }
}

fn phase_name(phase: RunPhase) -> &'static str {
    match phase {
        RunPhase::Working => "working",
        RunPhase::Background => "working in the background",
        RunPhase::Parked(_) => "waiting for its provider",
        RunPhase::Quiet => "idle",
        RunPhase::Paused => "paused",
    }
}

/// Ends the session host, and waits until it has ended.
pub(super) async fn stop(home: &Home) -> Result<CommandExit, CliError> {
    let Some((client, view)) = claim::connect(home).await? else {
        print::note("the session host is not running");
        return Ok(CommandExit::Success);
    };
    let stopped = client.call::<calls::HostStop>(&Nothing {}).await;
    stopped.map_err(|error| CliError::failed(format!("the session host does not answer: {error}")))?;
    let home = home.clone();
    // The host releases its lock when every session is closed.
    let ended = tokio::task::spawn_blocking(move || home.lock(HOST_LOCK).map(drop)).await;
    ended.map_err(CliError::failed)??;
    print::note(format_args!("ended process {}", view.pid));
    for session in &view.sessions {
        print::note(format_args!("resume its session with: bosun --resume {}", session.id));
    }
    Ok(CommandExit::Success)
}
