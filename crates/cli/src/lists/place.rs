//! Which list is meant.

use config::Project;
use protocol::{ListName, SessionId};
use store::List;

use crate::args::WhichList;
use crate::failure::Failure;
use crate::run::{find, latest};
use crate::setup::{self, Setup};

/// An open list.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: ListName,
    pub(super) list: List,
}

impl Place {
    /// The list that is meant: the one that is named, that of the session that is named, or the one that settings name.
    pub(super) fn open(setup: &Setup, which: &WhichList) -> Result<Place, Failure> {
        let name = match (&which.list, &which.session) {
            (Some(name), None) => name.clone(),
            (None | Some(ListName::Session), Some(_)) => ListName::Session,
            (Some(name @ (ListName::Project | ListName::Team(_))), Some(_)) => {
                return Err(Failure::usage(format!("--session names a session, and --list {name} is none of it"))
                    .hint("leave one of the two out"));
            }
            (None, None) => setup.here()?.config().list,
        };
        let home = &setup.home;
        let list = match &name {
            ListName::Session => List::of_session(home, session(setup, which)?)?,
            ListName::Project => {
                List::of_project(home, &Project::find(&setup::folder(None)?).top.display().to_string())?
            }
            ListName::Team(name) => List::of_team(home, name)?,
        };
        Ok(Place { name, list })
    }
}

fn session(setup: &Setup, which: &WhichList) -> Result<SessionId, Failure> {
    if let Some(prefix) = &which.session {
        return find(&setup.home, prefix);
    }
    let cwd = setup::folder(None)?.display().to_string();
    latest(&setup.home, &cwd)?.ok_or_else(|| {
        Failure::usage(format!("no session was begun in {cwd}"))
            .hint("--session names another, and --list project or team:NAME a list that needs none")
    })
}
