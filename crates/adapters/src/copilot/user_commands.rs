//! The commands that a session's clients run and wait for, by the ids of their requests.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::TaskId;

/// The commands that clients wait for.
#[derive(Debug, Default)]
pub(crate) struct UserCommands(Mutex<HashMap<String, TaskId>>);

impl UserCommands {
    /// Adds a command until the result is dropped; none if another command has the id.
    pub(crate) fn add(&self, request: &str, task: TaskId) -> Option<RunningUserCommand<'_>> {
        let mut commands = self.lock();
        if commands.contains_key(request) {
            return None;
        }
        commands.insert(request.to_owned(), task);
        Some(RunningUserCommand { commands: self, request: request.to_owned() })
    }

    /// The command of a request.
    pub(crate) fn task(&self, request: &str) -> Option<TaskId> {
        self.lock().get(request).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, TaskId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that a client waits for.
#[derive(Debug)]
pub(crate) struct RunningUserCommand<'a> {
    commands: &'a UserCommands,
    request: String,
}

impl Drop for RunningUserCommand<'_> {
    fn drop(&mut self) {
        self.commands.lock().remove(&self.request);
    }
}
