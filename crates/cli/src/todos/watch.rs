//! Follows the todos of a session that another process runs.

use std::time::Duration;

use client::{FollowOptions, SessionHandle};
use config::Env;
use host::Home;
use tui::event_text::ProgressMode;
use tui::live::{self, FleetBoard, FleetView};
use tui::print;

use super::session::TodoSession;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::terminal_settings;

/// The least time between two updates.
const UPDATE_PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn watch(home: &Home, session: &TodoSession, env: &Env) -> Result<CommandExit, CliError> {
    let (board, seen) = FleetBoard::read_now(&session.handle)?;
    if session.handle.owner_pid()?.is_none() {
        if board.is_empty() && !session.json {
            print::note(format_args!("{} has no todos; `bosun todos add \"…\"` adds one", session.session));
            return Ok(CommandExit::Success);
        }
        if !session.json {
            live::print_board(&board);
        }
        print_not_running(session, board.is_interrupted());
        return Ok(CommandExit::Success);
    }
    let mode = if session.json { ProgressMode::Events } else { ProgressMode::Lines };
    let mut view = FleetView::new(board, mode, terminal_settings(env));
    let options = FollowOptions { pause: UPDATE_PAUSE, ..FollowOptions::default() };
    let mut stream = SessionHandle::new(home, session.session).follow(seen, options);
    live::watch_fleet(async || stream.next().await, &mut view).await?;
    view.sync_with_store(&session.handle)?;
    view.finish();
    if session.handle.owner_pid()?.is_none() {
        print_not_running(session, view.is_interrupted());
    }
    Ok(CommandExit::Success)
}

/// Prints that no process runs the session, and how to resume an interrupted fleet.
fn print_not_running(session: &TodoSession, is_interrupted: bool) {
    let id = session.session;
    if is_interrupted {
        print::note(format_args!(
            "the fleet is interrupted: no process runs {id}; resume it with: bosun fleet resume {id}"
        ));
    } else {
        print::note(format_args!("no process runs {id}"));
    }
}
