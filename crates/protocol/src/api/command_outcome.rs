//! What becomes of what was asked of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MailId;

/// What became of a command that another process gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommandOutcome {
    /// It was carried out.
    Applied {
        /// The mail that holds its message, if it had one.
        #[serde(default)]
        mail: Option<MailId>,
    },
    /// It was not, and changed nothing.
    Refused {
        /// Why, for programs.
        kind: RefusalKind,
        /// Why, for people.
        message: String,
    },
}

/// Why something was refused, for programs: `data.kind` of the API's errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RefusalKind {
    /// There is no such task.
    NoTask,
    /// The task has ended.
    Ended,
    /// The task has not ended.
    NotEnded,
    /// The task is being stopped.
    Stopping,
    /// The session takes nothing new.
    Closed,
    /// The task takes no messages.
    NoInbox,
    /// Nobody waits for the task.
    NotAwaited,
    /// Only what the session's root started can go on in the background.
    NotRootChild,
    /// A limit is reached.
    Limit,
    /// Nothing of this name waits for a decision.
    NoAsk,
    /// The parameters, or a decision, do not fit what they are about.
    Invalid,
    /// A rule is none.
    NoRule,
    /// A hook did not take it.
    Hook,
    /// Nobody can tell whether a person gave it.
    Unverified,
    /// It does not fit the state that the task is in.
    State,
    /// A reason that a newer version gave.
    #[serde(other)]
    Unknown,
}
