//! Delivers what the user wants changed: to the process that runs the session or, if none does, through the session's
//! file for the next owner. A file cannot tell who wrote to it, so a running session accepts nothing from there, and a
//! command that its owner does not answer is not written to the file.

use host::{Clock, SystemClock};
use protocol::api::{CommandFate, CommandOutcome, Method, RefusalKind, SessionCommand, TodoEdit, TodoEdits, TodoIds};
use protocol::{TaskId, TaskState, TodoId};
use store::{StoreError, TodoError};

use crate::{ClientError, LatestFleet, SessionHandle, StoredSession};

/// The todos that were edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedTodos {
    /// Their ids.
    pub ids: Vec<TodoId>,
    /// Whether a process that runs the session has applied the edit; otherwise, the next owner applies it first.
    pub is_applied: bool,
}

/// What a session that no process runs does with a command.
#[derive(Debug, Clone, PartialEq, Eq)]
enum RestRule {
    /// The next owner carries it out first.
    Queue,
    /// The next owner carries it out, if the task has ended.
    QueueIfEnded(TaskId),
    /// The next owner carries it out first, if the session has an unfinished fleet.
    QueueIfFleetIsUnfinished,
    /// Only a running session can do it.
    NeedsOwner,
    /// There is nothing to stop.
    NothingToDo,
}

fn rest_rule(command: &SessionCommand) -> RestRule {
    match command {
        SessionCommand::Send(_)
        | SessionCommand::Decide(_)
        | SessionCommand::StopTask(_)
        | SessionCommand::SetMode(_) => RestRule::Queue,
        SessionCommand::Forget(params) => RestRule::QueueIfEnded(params.task),
        SessionCommand::Interrupt | SessionCommand::Promote(_) => RestRule::NeedsOwner,
        SessionCommand::StopFleet => RestRule::QueueIfFleetIsUnfinished,
        SessionCommand::Stop => RestRule::NothingToDo,
    }
}

impl SessionHandle {
    /// Gives the session a command and returns what became of it.
    pub async fn give(&self, command: &SessionCommand) -> Result<CommandFate, ClientError> {
        let stored = self.stored()?;
        loop {
            if let Some(pid) = stored.owner()? {
                return self.command_owner(pid, Method::SessionCommand, command).await;
            }
            match self.give_at_rest(&stored, command) {
                // Another process opened it in the meantime.
                Err(ClientError::Store(StoreError::Owned { .. })) => {}
                fate => return fate,
            }
        }
    }

    fn give_at_rest(&self, stored: &StoredSession, command: &SessionCommand) -> Result<CommandFate, ClientError> {
        match rest_rule(command) {
            RestRule::Queue => {}
            RestRule::QueueIfEnded(id) => {
                let task = stored.task(id)?;
                let refused =
                    |kind, message| Ok(CommandFate::Answered { outcome: CommandOutcome::Refused { kind, message } });
                match task.map(|task| task.state) {
                    Some(TaskState::Finished { .. }) => {}
                    Some(_) => return refused(RefusalKind::NotEnded, format!("task {id} has not ended")),
                    None => return refused(RefusalKind::NoTask, format!("there is no task {id}")),
                }
            }
            RestRule::QueueIfFleetIsUnfinished => match stored.latest_fleet()? {
                Some(LatestFleet::Unfinished) => {}
                Some(LatestFleet::Ended(_)) | None => return Ok(CommandFate::NothingToDo),
            },
            RestRule::NeedsOwner => return Err(ClientError::NotRunning(self.id())),
            RestRule::NothingToDo => return Ok(CommandFate::NothingToDo),
        }
        store::post_command(self.home(), self.id(), command, SystemClock.now())?;
        Ok(CommandFate::Queued)
    }

    /// Edits the session's todos: all of them, or none.
    pub async fn edit_todos(&self, edits: Vec<TodoEdit>) -> Result<EditedTodos, ClientError> {
        let stored = self.stored()?;
        loop {
            if let Some(pid) = stored.owner()? {
                let edits = TodoEdits { edits };
                let TodoIds { ids } = self.command_owner(pid, Method::TodosEdit, edits).await?;
                return Ok(EditedTodos { ids, is_applied: true });
            }
            match store::edit_todos(self.home(), self.id(), &edits) {
                Ok(ids) => return Ok(EditedTodos { ids, is_applied: false }),
                // Another process opened it in the meantime.
                Err(TodoError::Store(StoreError::Owned { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
