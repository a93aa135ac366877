//! Selects the list that a command works on.

use std::path::Path;

use client::{ListError, lists};
use config::Project;
use host::Home;
use protocol::api::SessionView;
use protocol::{ListAddress, ListItem, ListName, SessionId, TaskId};

use crate::args::ListSelectArgs;
use crate::error::CliError;
use crate::run::{find_session, latest_session};
use crate::setup::{self, Setup};

/// The selected list.
#[derive(Debug)]
pub(super) struct SelectedList {
    pub(super) name: ListName,
    pub(super) address: ListAddress,
}

impl SelectedList {
    /// The named list, the list of the named session, or the list chosen in the settings.
    pub(super) fn find(setup: &Setup, which: &ListSelectArgs) -> Result<SelectedList, CliError> {
        let name = match (&which.list, &which.session) {
            (Some(name), None) => name.clone(),
            (None | Some(ListName::Session), Some(_)) => ListName::Session,
            (Some(name @ (ListName::Project | ListName::Team(_))), Some(_)) => {
                return Err(CliError::usage(format!("--session cannot be combined with --list {name}"))
                    .with_hint("leave one of the two out"));
            }
            (None, None) => setup.layers_here()?.config().list,
        };
        let address = match &name {
            ListName::Session => ListAddress::Session(selected_session(setup, which)?),
            ListName::Project => project_list(&setup::working_folder(None)?),
            ListName::Team(name) => ListAddress::Team(name.clone()),
        };
        Ok(SelectedList { name, address })
    }
}

/// The items that a task works or worked on.
pub(crate) fn items_of_task(home: &Home, session: &SessionView, task: TaskId) -> Result<Vec<ListItem>, ListError> {
    let list = match &session.list {
        ListName::Session => ListAddress::Session(session.id),
        ListName::Project => project_list(Path::new(&session.cwd)),
        ListName::Team(name) => ListAddress::Team(name.clone()),
    };
    lists::of_task(home, &list, task)
}

fn project_list(folder: &Path) -> ListAddress {
    ListAddress::Project(Project::find(folder).dir.display().to_string())
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
