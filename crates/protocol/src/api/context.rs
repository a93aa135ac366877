//! How the conversation of the root is cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Removes the end of the root's conversation: the model does not get it any more, but the log keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CutConversationParams {
    /// The number of the last event that still counts. The next one must have delivered mail to the root.
    pub after: u64,
}
