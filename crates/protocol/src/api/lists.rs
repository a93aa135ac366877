//! API types for shared lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ItemId, ItemStatus, ListAddress, ListItem};

/// Which items of a list, and how many of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ItemsParams {
    /// The list.
    pub list: ListAddress,
    /// Only items with this status; all that are not deleted when absent.
    #[serde(default)]
    pub status: Option<ItemStatus>,
    /// Only items of this owner.
    #[serde(default)]
    pub owner: Option<String>,
    /// Whether to include archived items.
    #[serde(default)]
    pub archived: bool,
    /// Only items after this one.
    #[serde(default)]
    pub after: Option<ItemId>,
    /// How many items at most; 100 when absent.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// Items of a list, in the order in which they were created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ItemsResult {
    /// The items.
    pub items: Vec<ListItem>,
}

/// Which item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ItemParams {
    /// The list.
    pub list: ListAddress,
    /// The item.
    pub item: ItemId,
}

/// An item to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddItemParams {
    /// The list.
    pub list: ListAddress,
    /// What is to be done, in one line.
    pub subject: String,
    /// Details for the agent or person who does it.
    #[serde(default)]
    pub description: String,
    /// What to show while it is in progress, in one line.
    #[serde(default)]
    pub active_form: Option<String>,
    /// Who does it.
    #[serde(default)]
    pub owner: Option<String>,
    /// The items that it waits for.
    #[serde(default)]
    pub blocked_by: Vec<ItemId>,
    /// Additional data.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// A change of an item; absent fields stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateItemParams {
    /// The list.
    pub list: ListAddress,
    /// The item.
    pub item: ItemId,
    /// Only if it still has this version.
    #[serde(default)]
    pub version: Option<u64>,
    /// What is to be done, in one line.
    #[serde(default)]
    pub subject: Option<String>,
    /// Details for the agent or person who does it.
    #[serde(default)]
    pub description: Option<String>,
    /// What to show while it is in progress, in one line.
    #[serde(default)]
    pub active_form: Option<String>,
    /// Its status.
    #[serde(default)]
    pub status: Option<ItemStatus>,
    /// Who does it; an empty text removes the owner.
    #[serde(default)]
    pub owner: Option<String>,
    /// More items that wait for it.
    #[serde(default)]
    pub add_blocks: Vec<ItemId>,
    /// More items that it waits for.
    #[serde(default)]
    pub add_blocked_by: Vec<ItemId>,
    /// Items that it no longer waits for.
    #[serde(default)]
    pub remove_blocked_by: Vec<ItemId>,
    /// Additional data to set; null removes a field.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl UpdateItemParams {
    /// A change of nothing.
    pub fn new(list: ListAddress, item: ItemId) -> UpdateItemParams {
        UpdateItemParams {
            list,
            item,
            version: None,
            subject: None,
            description: None,
            active_form: None,
            status: None,
            owner: None,
            add_blocks: Vec::new(),
            add_blocked_by: Vec::new(),
            remove_blocked_by: Vec::new(),
            metadata: Map::new(),
        }
    }
}

/// Which items to archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveItemsParams {
    /// The list.
    pub list: ListAddress,
    /// The item; all completed items when absent.
    #[serde(default)]
    pub item: Option<ItemId>,
}

/// Which list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// The list.
    pub list: ListAddress,
}

/// A list as JSON lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListExport {
    /// One item per line.
    pub text: String,
    /// How many items there are.
    pub count: u64,
}

/// Items to import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportItemsParams {
    /// The list.
    pub list: ListAddress,
    /// The items, as exported: one per line.
    pub text: String,
}

/// What an import changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportItemsResult {
    /// Items that are new.
    pub created: Vec<ItemId>,
    /// Items that the file has in a later version.
    pub changed: Vec<ItemId>,
    /// Items that are equal, or newer in the list.
    pub unchanged: Vec<ItemId>,
    /// Items that were changed on both sides; the list's version is kept.
    pub conflicts: Vec<ItemId>,
}
