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

/// How often the file is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How many events are read at a time.
const PAGE: usize = 256;

pub(super) async fn watch(place: &TodoSession, env: &Env) -> Result<CommandExit, CliError> {
    let (board, seen) = FleetBoard::read_now(&place.reader)?;
    if live_owner(&place.reader)?.is_none() {
        if !place.json {
            live::print_board(&board);
        }
        print_not_running(place, board.is_interrupted());
        return Ok(CommandExit::Success);
    }
    let show = if place.json { ProgressMode::Events } else { ProgressMode::Lines };
    let mut view = FleetView::new(board, show, env);
    let mut follower = LogFollower { reader: &place.reader, seen, page: Vec::new() };
    live::watch_fleet(async || follower.next().await, &mut view).await?;
    view.sync_with_store(&place.reader)?;
    view.finish();
    if live_owner(&place.reader)?.is_none() {
        print_not_running(place, view.is_interrupted());
    }
    Ok(CommandExit::Success)
}

/// Says that nothing moves here any more, and what would change that.
fn print_not_running(place: &TodoSession, is_interrupted: bool) {
    let id = place.session;
    if is_interrupted {
        print::note(format_args!("the fleet is interrupted: nobody runs {id}; resume it: bosun fleet resume {id}"));
    } else {
        print::note(format_args!("nobody runs {id}"));
    }
}

/// Reads a log along as it grows.
struct LogFollower<'a> {
    reader: &'a SessionReader,
    seen: u64,
    /// Events that were read and not given out, newest first.
    page: Vec<protocol::Envelope>,
}

impl LogFollower<'_> {
    /// The next event; none when nobody runs the session any more.
    async fn next(&mut self) -> Result<Option<BusMessage>, StoreError> {
        loop {
            if let Some(envelope) = self.page.pop() {
                self.seen = envelope.seq;
                return Ok(Some(BusMessage::Event(envelope.into())));
            }
            // Before the look at the log: what an owner that is gone did not write, it will not write any more.
            let is_run = live_owner(self.reader)?.is_some();
            self.page = self.reader.events_after(self.seen, PAGE)?;
            self.page.reverse();
            match (self.page.is_empty(), is_run) {
                (false, _) => {}
                (true, false) => return Ok(None),
                (true, true) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
    }
}
