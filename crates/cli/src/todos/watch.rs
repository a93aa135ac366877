//! Follows the todos of a session that another process runs.

use std::time::Duration;

use config::Env;
use runtime::Live;
use store::{Reader, StoreError};

use super::place::Place;
use crate::deliver::live_owner;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live::{self, Board, View};
use crate::print;
use crate::run::Show;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How many events are read at a time.
const PAGE: usize = 256;

pub(super) async fn watch(place: &Place, env: &Env) -> Result<Exit, Failure> {
    let (board, seen) = Board::read_now(&place.reader)?;
    if live_owner(&place.reader)?.is_none() {
        if !place.json {
            live::print_board(&board);
        }
        tell_rest(place, board.is_interrupted());
        return Ok(Exit::Success);
    }
    let show = if place.json { Show::Events } else { Show::Lines };
    let mut view = View::new(board, show, env);
    let mut follower = Follower { reader: &place.reader, seen, page: Vec::new() };
    live::watch(async || follower.next().await, &mut view).await?;
    view.agree(&place.reader)?;
    view.end();
    if live_owner(&place.reader)?.is_none() {
        tell_rest(place, view.is_interrupted());
    }
    Ok(Exit::Success)
}

/// Says that nothing moves here any more, and what would change that.
fn tell_rest(place: &Place, is_interrupted: bool) {
    let id = place.session;
    if is_interrupted {
        print::note(format_args!("the fleet is interrupted: nobody runs {id}; resume it: bosun fleet resume {id}"));
    } else {
        print::note(format_args!("nobody runs {id}"));
    }
}

/// Reads a log along as it grows.
struct Follower<'a> {
    reader: &'a Reader,
    seen: u64,
    /// Events that were read and not given out, newest first.
    page: Vec<protocol::Envelope>,
}

impl Follower<'_> {
    /// The next event; none when nobody runs the session any more.
    async fn next(&mut self) -> Result<Option<Live>, StoreError> {
        loop {
            if let Some(envelope) = self.page.pop() {
                self.seen = envelope.seq;
                return Ok(Some(Live::Event(envelope.into())));
            }
            // Before the look at the log: what an owner that is gone did not write, it will not write any more.
            let is_run = live_owner(self.reader)?.is_some();
            self.page = self.reader.events_after(self.seen, PAGE)?;
            self.page.reverse();
            match (self.page.is_empty(), is_run) {
                (false, _) => {}
                (true, false) => return Ok(None),
                (true, true) => tokio::time::sleep(LOOK).await,
            }
        }
    }
}
