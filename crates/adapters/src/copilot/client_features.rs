//! What clients use of a session besides its conversation: canvases, forms, commands in a queue, folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{Ids, TimeIds};
use serde_json::Value;
use tokio::task::JoinSet;

use super::canvases::Canvases;
use super::command_queue::CommandQueue;
use super::github_account::GitHubAccount;
use super::methods::provider::ListedModel;
use super::pending_answers::PendingAnswers;
use super::user_commands::UserCommands;

/// Maximum handlers that clients may register.
const MAX_HANDLERS: usize = 64;

/// What clients use of a session besides its conversation.
#[derive(Debug, Default)]
pub(crate) struct ClientFeatures {
    pub(crate) canvases: Canvases,
    /// Forms that wait for a client.
    pub(crate) forms: PendingAnswers,
    /// The GitHub account that a client brought.
    account: Mutex<Option<GitHubAccount>>,
    /// Handlers for switches of the model that clients have registered.
    switch_handlers: Mutex<HashSet<String>>,
    /// How the client that shows views of MCP servers shows them.
    app_context: Mutex<Value>,
    /// Whether values of `env` in definitions of MCP servers name other values.
    has_indirect_env: Mutex<bool>,
    /// The folders that files may be used in, the primary one first.
    folders: Mutex<Vec<PathBuf>>,
    /// The models of providers that clients added while the session ran.
    added_models: Mutex<Vec<ListedModel>>,
    /// Whether the session was opened with plugins.
    has_plugins: Mutex<bool>,
    /// Whether the servers of plugins were connected to.
    has_plugin_servers: Mutex<bool>,
    /// Shell commands that clients wait for.
    pub(crate) user_commands: UserCommands,
    /// Work that goes on after its call was answered.
    background: Mutex<JoinSet<()>>,
    /// Held while servers are connected to because a client has come.
    pub(crate) connecting: tokio::sync::Mutex<()>,
    pub(crate) commands: CommandQueue,
}

impl ClientFeatures {
    /// The GitHub account that a client brought.
    pub(crate) fn account(&self) -> Option<GitHubAccount> {
        lock(&self.account).clone()
    }

    /// Sets or removes the GitHub account.
    pub(crate) fn set_account(&self, account: Option<GitHubAccount>) {
        *lock(&self.account) = account;
    }

    /// Registers a handler; none if there are too many.
    pub(crate) fn add_switch_handler(&self) -> Option<String> {
        let mut handlers = lock(&self.switch_handlers);
        let id = TimeIds.uuid().to_string();
        (handlers.len() < MAX_HANDLERS && handlers.insert(id.clone())).then_some(id)
    }

    /// Removes a handler; returns whether it was registered.
    pub(crate) fn remove_switch_handler(&self, id: &str) -> bool {
        lock(&self.switch_handlers).remove(id)
    }

    pub(crate) fn app_context(&self) -> Value {
        lock(&self.app_context).clone()
    }

    pub(crate) fn set_app_context(&self, context: Value) {
        *lock(&self.app_context) = context;
    }

    pub(crate) fn has_indirect_env(&self) -> bool {
        *lock(&self.has_indirect_env)
    }

    pub(crate) fn set_indirect_env(&self, is_indirect: bool) {
        *lock(&self.has_indirect_env) = is_indirect;
    }

    /// Records what the session was opened with.
    pub(crate) fn set_opened_with(&self, folders: Vec<PathBuf>, has_plugins: bool) {
        *lock(&self.folders) = folders;
        *lock(&self.has_plugins) = has_plugins;
    }

    /// Lists models of added providers; one with an id that another has replaces that one.
    pub(crate) fn add_models(&self, models: impl IntoIterator<Item = ListedModel>) {
        let mut added = lock(&self.added_models);
        for model in models {
            added.retain(|known| known.id != model.id);
            added.push(model);
        }
    }

    pub(crate) fn added_models(&self) -> Vec<ListedModel> {
        lock(&self.added_models).clone()
    }

    /// Whether the servers of plugins are to be connected to now, for the first time.
    pub(crate) fn begin_plugin_servers(&self) -> bool {
        !std::mem::replace(&mut *lock(&self.has_plugin_servers), true)
    }

    pub(crate) fn has_plugins(&self) -> bool {
        *lock(&self.has_plugins)
    }

    /// The folders that files may be used in, the primary one first.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        lock(&self.folders).clone()
    }

    /// Adds a folder, or makes it the primary one.
    pub(crate) fn add_folder(&self, folder: &Path, place: FolderPlace) {
        let mut folders = lock(&self.folders);
        match place {
            FolderPlace::Last if folders.iter().any(|known| known == folder) => {}
            FolderPlace::Last => folders.push(folder.to_owned()),
            FolderPlace::Primary => {
                folders.retain(|known| known != folder);
                folders.insert(0, folder.to_owned());
            }
        }
    }

    /// Runs work for a call that was answered.
    pub(crate) fn run_in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = lock(&self.background);
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }

    /// Ends everything that runs in the background.
    pub(crate) fn stop_background(&self) {
        lock(&self.background).abort_all();
    }
}

/// Where a folder goes in the list of folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderPlace {
    Primary,
    Last,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
