//! Types that only the HTTP API uses. All others are those of the session API.

use protocol::{AskDecision, Image, ItemId, ItemStatus, MailDelivery, TodoId};
use protocol::{CancelMode, TodoStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Information about the server.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerInfo {
    /// The version of Bosun.
    pub(super) version: String,
    /// How many sessions run in this server.
    pub(super) sessions: u64,
}

/// A message.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MessageBody {
    /// The text.
    pub(super) text: String,
    /// Images to send with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Image>,
    /// When the message may be read.
    #[serde(default = "follow_up")]
    pub(super) delivery: MailDelivery,
    /// What people see instead of the text, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) display: Option<String>,
}

fn follow_up() -> MailDelivery {
    MailDelivery::FollowUp
}

/// How a task is stopped.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StopOptions {
    /// After one last turn, or at once.
    #[serde(default = "wrap_up")]
    pub(super) how: CancelMode,
}

fn wrap_up() -> CancelMode {
    CancelMode::WrapUp
}

/// The decision on an ask.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DecisionBody {
    /// The decision.
    pub(super) decision: AskDecision,
}

/// The input of a slash command.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct CommandInput {
    /// The text after the command's name.
    pub(super) input: String,
}

/// Changes to a todo; absent fields stay as they are.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct TodoPatch {
    /// What to do, in one line.
    pub(super) title: Option<String>,
    /// What the worker must know.
    pub(super) description: Option<String>,
    /// The status.
    pub(super) status: Option<TodoStatus>,
    /// Why it is blocked; sent together with the status.
    pub(super) reason: Option<String>,
    /// The todos that must be done first.
    pub(super) depends_on: Option<Vec<TodoId>>,
    /// The agent type of the worker.
    pub(super) agent_type: Option<String>,
    /// The model of the worker.
    pub(super) model: Option<String>,
    /// Patterns of the files that the worker reads and changes.
    pub(super) files: Option<Vec<String>>,
    /// A shell command that must exit with code 0 when it is done.
    pub(super) check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy, as written.
    pub(super) expects: Option<String>,
}

/// Which items of a list.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ItemsQuery {
    /// Only items with this status; all that are not deleted when absent.
    pub(super) status: Option<ItemStatus>,
    /// Only items of this owner.
    pub(super) owner: Option<String>,
    /// Whether to include archived items.
    pub(super) archived: bool,
    /// Only items after this one.
    pub(super) after: Option<ItemId>,
    /// How many items at most; 100 when absent.
    pub(super) limit: Option<u64>,
}

/// An item to add.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewItemBody {
    /// What is to be done, in one line.
    pub(super) subject: String,
    /// Details for the agent or person who does it.
    #[serde(default)]
    pub(super) description: String,
    /// What to show while it is in progress, in one line.
    #[serde(default)]
    pub(super) active_form: Option<String>,
    /// Who does it.
    #[serde(default)]
    pub(super) owner: Option<String>,
    /// The items that it waits for.
    #[serde(default)]
    pub(super) blocked_by: Vec<ItemId>,
    /// Additional data.
    #[serde(default)]
    pub(super) metadata: Map<String, Value>,
}

/// Changes to an item; absent fields stay as they are.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ItemPatch {
    /// Only if it still has this version.
    pub(super) version: Option<u64>,
    /// What is to be done, in one line.
    pub(super) subject: Option<String>,
    /// Details for the agent or person who does it.
    pub(super) description: Option<String>,
    /// What to show while it is in progress, in one line.
    pub(super) active_form: Option<String>,
    /// Its status.
    pub(super) status: Option<ItemStatus>,
    /// Who does it; an empty text removes the owner.
    pub(super) owner: Option<String>,
    /// More items that wait for it.
    pub(super) add_blocks: Vec<ItemId>,
    /// More items that it waits for.
    pub(super) add_blocked_by: Vec<ItemId>,
    /// Items that it no longer waits for.
    pub(super) remove_blocked_by: Vec<ItemId>,
    /// Additional data to set; null removes a field.
    pub(super) metadata: Map<String, Value>,
}

/// Which items to archive.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ArchiveBody {
    /// The item; all completed items when absent.
    pub(super) item: Option<ItemId>,
}

/// Items to import.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ImportBody {
    /// The items, as exported: one per line.
    pub(super) text: String,
}

/// How long to wait for a task.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct TaskWaitQuery {
    /// How long to wait in total, in milliseconds; the server waits at most two minutes.
    pub(super) timeout_ms: Option<u64>,
}

/// Where an event stream starts.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct EventsQuery {
    /// The last sequence number that the client received; the `Last-Event-ID` header takes precedence.
    pub(super) after: u64,
}
