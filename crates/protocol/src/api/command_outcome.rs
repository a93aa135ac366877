//! Outcomes of commands and requests to a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MailId;

/// The outcome of a command, as the owner of the session reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommandOutcome {
    /// It was carried out.
    Applied {
        /// The mail that holds its message, if it had one.
        #[serde(default)]
        mail: Option<MailId>,
    },
    /// It was refused, and changed nothing.
    Refused {
        /// Why, for programs.
        kind: RefusalKind,
        /// Why, for people.
        message: String,
    },
}

/// What became of a command, whether a process runs the session or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommandFate {
    /// Its owner carried it out or refused it, or its file says why it must be refused.
    Answered {
        /// The outcome.
        outcome: CommandOutcome,
    },
    /// No process runs the session; the next owner carries it out first.
    Queued,
    /// No process runs the session, so there is nothing to stop.
    NothingToDo,
}

/// Why something was refused, for programs: `data.kind` of the API's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RefusalKind {
    /// There is no such task.
    NoTask,
    /// There is no such session.
    NoSession,
    /// There is no such item on the list.
    NoItem,
    /// The task has ended.
    Ended,
    /// The task has not ended.
    NotEnded,
    /// The task is being stopped.
    Stopping,
    /// The session accepts no new work.
    Closed,
    /// The task cannot receive messages.
    NoInbox,
    /// No task is waiting for it.
    NotAwaited,
    /// Only a task that the root started can be moved into the background.
    NotRootChild,
    /// A limit is reached.
    Limit,
    /// There is no open ask with this id.
    NoAsk,
    /// The parameters or the decision are not valid here.
    Invalid,
    /// A permission rule is not valid.
    NoRule,
    /// A hook rejected it.
    Hook,
    /// It cannot be verified that it comes from the user.
    Unverified,
    /// It is not possible in the task's current state.
    State,
    /// A reason from a newer version.
    #[serde(other)]
    Unknown,
}
