//! Which list is meant.

use std::path::Path;

use config::Project;
use host::Home;
use protocol::api::SessionView;
use protocol::{Item, ListName, SessionId, TaskId};
use store::{List, ListError, StoreError};

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
        let list = match &name {
            ListName::Session => List::of_session(&setup.home, session(setup, which)?)?,
            ListName::Project => of_project(&setup.home, &setup::folder(None)?)?,
            ListName::Team(name) => List::of_team(&setup.home, name)?,
        };
        Ok(Place { name, list })
    }
}

/// The items that a task of a session does or did.
pub(crate) fn items_of(home: &Home, session: &SessionView, task: TaskId) -> Result<Vec<Item>, ListError> {
    let list = match &session.list {
        ListName::Session => List::of_session(home, session.id)?,
        ListName::Project => of_project(home, Path::new(&session.cwd))?,
        ListName::Team(name) => List::of_team(home, name)?,
    };
    list.of_task(task)
}

fn of_project(home: &Home, folder: &Path) -> Result<List, StoreError> {
    List::of_project(home, &Project::find(folder).top.display().to_string())
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
