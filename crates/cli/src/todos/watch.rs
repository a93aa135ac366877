//! Follows the todos of a session that another process runs.

use std::time::Duration;

use config::Env;
use runtime::BusMessage;
use store::{SessionReader, StoreError};

use super::session::TodoSession;
use crate::deliver::live_owner;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::live::{self, FleetBoard, FleetView};
use crate::print;
use crate::run::ProgressMode;

/// How often the file is read.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The number of events read per page.
const EVENTS_PER_PAGE: usize = 256;

pub(super) async fn watch(session: &TodoSession, env: &Env) -> Result<CommandExit, CliError> {
    let (board, seen) = FleetBoard::read_now(&session.reader)?;
    if live_owner(&session.reader)?.is_none() {
        if !session.json {
            live::print_board(&board);
        }
        print_not_running(session, board.is_interrupted());
        return Ok(CommandExit::Success);
    }
    let mode = if session.json { ProgressMode::Events } else { ProgressMode::Lines };
    let mut view = FleetView::new(board, mode, env);
    let mut follower = LogFollower { reader: &session.reader, last_seq: seen, pending: Vec::new() };
    live::watch_fleet(async || follower.next().await, &mut view).await?;
    view.sync_with_store(&session.reader)?;
    view.finish();
    if live_owner(&session.reader)?.is_none() {
        print_not_running(session, view.is_interrupted());
    }
    Ok(CommandExit::Success)
}

/// Prints that no process runs the session, and how to resume an interrupted fleet.
fn print_not_running(session: &TodoSession, is_interrupted: bool) {
    let id = session.session;
    if is_interrupted {
        print::note(format_args!("the fleet is interrupted: no process runs {id}; resume it: bosun fleet resume {id}"));
    } else {
        print::note(format_args!("no process runs {id}"));
    }
}

/// Follows a log as it grows.
struct LogFollower<'a> {
    reader: &'a SessionReader,
    last_seq: u64,
    /// Events that were read but not returned yet, newest first.
    pending: Vec<protocol::Envelope>,
}

impl LogFollower<'_> {
    /// The next event; `None` when no process runs the session any more.
    async fn next(&mut self) -> Result<Option<BusMessage>, StoreError> {
        loop {
            if let Some(envelope) = self.pending.pop() {
                self.last_seq = envelope.seq;
                return Ok(Some(BusMessage::Event(envelope.into())));
            }
            // Check before reading the log: a process that is gone has written all its events.
            let is_running = live_owner(self.reader)?.is_some();
            self.pending = self.reader.events_after(self.last_seq, EVENTS_PER_PAGE)?;
            self.pending.reverse();
            match (self.pending.is_empty(), is_running) {
                (false, _) => {}
                (true, false) => return Ok(None),
                (true, true) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}
