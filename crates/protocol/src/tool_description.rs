//! Tools as models see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescription {
    /// The name it is called by.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}
