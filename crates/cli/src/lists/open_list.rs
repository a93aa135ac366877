//! Selects the list that a command works on.

use std::path::Path;

use client::{ItemList, ListError, StoreError, lists};
use config::Project;
use host::Home;
use protocol::api::SessionView;
use protocol::{ListItem, ListName, SessionId, TaskId};

use crate::args::ListSelectArgs;
use crate::error::CliError;
use crate::run::{find_session, latest_session};
use crate::setup::{self, Setup};

/// An open list.
#[derive(Debug)]
pub(super) struct OpenList {
    pub(super) name: ListName,
    pub(super) list: ItemList,
}

impl OpenList {
    /// Opens the named list, the list of the named session, or the list chosen in the settings.
    pub(super) fn open(setup: &Setup, which: &ListSelectArgs) -> Result<OpenList, CliError> {
        let name = match (&which.list, &which.session) {
            (Some(name), None) => name.clone(),
            (None | Some(ListName::Session), Some(_)) => ListName::Session,
            (Some(name @ (ListName::Project | ListName::Team(_))), Some(_)) => {
                return Err(CliError::usage(format!("--session cannot be combined with --list {name}"))
                    .with_hint("leave one of the two out"));
            }
            (None, None) => setup.layers_here()?.config().list,
        };
        let list = match &name {
            ListName::Session => lists::of_session(&setup.home, selected_session(setup, which)?)?,
            ListName::Project => project_list(&setup.home, &setup::working_folder(None)?)?,
            ListName::Team(name) => lists::of_team(&setup.home, name)?,
        };
        Ok(OpenList { name, list })
    }
}

/// The items that a task works or worked on.
pub(crate) fn items_of_task(home: &Home, session: &SessionView, task: TaskId) -> Result<Vec<ListItem>, ListError> {
    let list = match &session.list {
        ListName::Session => lists::of_session(home, session.id)?,
        ListName::Project => project_list(home, Path::new(&session.cwd))?,
        ListName::Team(name) => lists::of_team(home, name)?,
    };
    list.of_task(task)
}

fn project_list(home: &Home, folder: &Path) -> Result<ItemList, StoreError> {
    lists::of_project(home, &Project::find(folder).dir.display().to_string())
}

fn selected_session(setup: &Setup, which: &ListSelectArgs) -> Result<SessionId, CliError> {
    if let Some(prefix) = &which.session {
        return find_session(&setup.home, prefix);
    }
    let cwd = setup::working_folder(None)?.display().to_string();
    latest_session(&setup.home, &cwd)?.ok_or_else(|| {
        CliError::usage(format!("there is no session in {cwd}"))
            .with_hint("name one with --session, or use --list project or --list team:NAME")
    })
}
