//! The session whose todos are meant.

use host::Home;
use protocol::SessionId;
use store::Reader;

use crate::args::TodoPlaceArgs;
use crate::failure::Failure;
use crate::run::{find, latest};
use crate::setup;

/// A session whose todos are seen or edited.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) session: SessionId,
    pub(super) reader: Reader,
    pub(super) json: bool,
}

impl Place {
    pub(super) fn find(home: &Home, args: &TodoPlaceArgs) -> Result<Place, Failure> {
        let session = match &args.session {
            Some(prefix) => find(home, prefix)?,
            None => of_folder(home)?,
        };
        Ok(Place { session, reader: Reader::open(home, session)?, json: args.json })
    }
}

fn of_folder(home: &Home) -> Result<SessionId, Failure> {
    let cwd = setup::folder(None)?.display().to_string();
    latest(home, &cwd)?.ok_or_else(|| {
        Failure::usage(format!("no session was begun in {cwd}"))
            .hint("name one with --session; `bosun sessions` lists them")
    })
}
