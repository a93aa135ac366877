//! Lists of items that agents and people share, and that may outlive the session that created them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{SessionId, TaskId, Timestamp};

/// Maximum bytes of a team's name.
const MAX_NAME_BYTES: usize = 64;

/// Which list: `session`, `project`, or `team:` and a name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListName {
    /// The list of one session.
    #[default]
    Session,
    /// The list of the project that the folder belongs to.
    Project,
    /// The list of a team.
    Team(String),
}

/// A text that is not the name of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListNameError(String);

impl fmt::Display for ListNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let allowed = "letters, digits, dots, dashes and underscores";
        write!(f, "`{}` is not a list; use session, project, or team:NAME with {allowed} in NAME", self.0)
    }
}

impl std::error::Error for ListNameError {}

impl fmt::Display for ListName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListName::Session => f.write_str("session"),
            ListName::Project => f.write_str("project"),
            ListName::Team(name) => write!(f, "team:{name}"),
        }
    }
}

impl FromStr for ListName {
    type Err = ListNameError;

    fn from_str(text: &str) -> Result<ListName, ListNameError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        match (text, text.strip_prefix("team:")) {
            ("session", _) => Ok(ListName::Session),
            ("project", _) => Ok(ListName::Project),
            (_, Some(name)) if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_plain) => {
                Ok(ListName::Team(name.to_owned()))
            }
            (_, Some(_) | None) => Err(ListNameError(crate::clip_middle(text, MAX_NAME_BYTES))),
        }
    }
}

impl Serialize for ListName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ListName {
    fn schema_name() -> Cow<'static, str> {
        "ListName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(session|project|team:[A-Za-z0-9._-]+)$" })
    }
}

impl<'de> Deserialize<'de> for ListName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ListName, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A list that can be found without knowing the session of the caller: `session:` and an id, `project:` and the
/// project's topmost folder, or `team:` and a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListAddress {
    /// The list of this session.
    Session(SessionId),
    /// The list of the project with this topmost folder, as an absolute path.
    Project(String),
    /// The list of this team.
    Team(String),
}

/// A text that is not the address of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListAddressError(String);

impl fmt::Display for ListAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a list; use session:ID, project:FOLDER or team:NAME", self.0)
    }
}

impl std::error::Error for ListAddressError {}

impl fmt::Display for ListAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListAddress::Session(id) => write!(f, "session:{id}"),
            ListAddress::Project(folder) => write!(f, "project:{folder}"),
            ListAddress::Team(name) => write!(f, "team:{name}"),
        }
    }
}

impl FromStr for ListAddress {
    type Err = ListAddressError;

    fn from_str(text: &str) -> Result<ListAddress, ListAddressError> {
        let error = || ListAddressError(crate::clip_middle(text, MAX_NAME_BYTES));
        match text.split_once(':') {
            Some(("session", id)) => id.parse().map(ListAddress::Session).map_err(|_not_an_id| error()),
            Some(("project", folder)) if folder.starts_with('/') => Ok(ListAddress::Project(folder.to_owned())),
            Some(("team", _)) => match text.parse() {
                Ok(ListName::Team(name)) => Ok(ListAddress::Team(name)),
                Ok(ListName::Session | ListName::Project) | Err(_) => Err(error()),
            },
            Some(_) | None => Err(error()),
        }
    }
}

impl Serialize for ListAddress {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ListAddress {
    fn schema_name() -> Cow<'static, str> {
        "ListAddress".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(session:ses-[0-9a-f]{32}|project:/.*|team:[A-Za-z0-9._-]{1,64})$" })
    }
}

impl<'de> Deserialize<'de> for ListAddress {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ListAddress, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The id of an item: a small number within its list, written as a string in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u32);

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for ItemId {
    type Err = std::num::ParseIntError;

    /// Accepts `#3` too, because models and people write it.
    fn from_str(text: &str) -> Result<ItemId, Self::Err> {
        let text = text.trim();
        text.strip_prefix('#').unwrap_or(text).parse().map(ItemId)
    }
}

impl Serialize for ItemId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for ItemId {
    fn schema_name() -> Cow<'static, str> {
        "ItemId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+$" })
    }
}

impl<'de> Deserialize<'de> for ItemId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ItemId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The status of an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Work on it has not started.
    #[default]
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Completed,
    /// It was deleted; its id is not used again.
    Deleted,
}

impl ItemStatus {
    /// Every status.
    pub const ALL: [ItemStatus; 4] =
        [ItemStatus::Pending, ItemStatus::InProgress, ItemStatus::Completed, ItemStatus::Deleted];

    /// The status in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            ItemStatus::Pending => "pending",
            ItemStatus::InProgress => "in_progress",
            ItemStatus::Completed => "completed",
            ItemStatus::Deleted => "deleted",
        }
    }

    /// The status with this name.
    pub fn from_name(name: &str) -> Option<ItemStatus> {
        ItemStatus::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether it still blocks the items that depend on it.
    pub fn is_open(self) -> bool {
        match self {
            ItemStatus::Pending | ItemStatus::InProgress => true,
            ItemStatus::Completed | ItemStatus::Deleted => false,
        }
    }
}

/// An item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListItem {
    /// Its id.
    pub id: ItemId,
    /// What is to be done, in one line.
    pub subject: String,
    /// Details for the agent or person who does it.
    #[serde(default)]
    pub description: String,
    /// What to show while it is in progress, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Its status.
    pub status: ItemStatus,
    /// Who does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The items that wait for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<ItemId>,
    /// The items that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<ItemId>,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// How often it was written; a change based on an older version is refused.
    pub version: u64,
    /// The session's task that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Who last wrote it: `user`, or an agent by its path and session.
    #[serde(default)]
    pub author: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// Whether it is archived.
    #[serde(default)]
    pub archived: bool,
}

/// Formats a dependency cycle of items, beginning and ending with the same item.
pub fn format_item_cycle(path: &[ItemId]) -> String {
    let ids: Vec<String> = path.iter().chain(path.first()).map(ToString::to_string).collect();
    ids.join(" → ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_list_names_are_parsed() {
        for name in [ListName::Session, ListName::Project, ListName::Team("red-1".into())] {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        for wrong in ["", "team:", "team:a/b", "team:a b", "Project", &format!("team:{}", "x".repeat(65))] {
            assert!(wrong.parse::<ListName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_valid_list_addresses_are_parsed() {
        let session = "session:ses-00000000000000000000000000000001";
        for address in [session, "project:/work/a b", "team:red-1"] {
            assert_eq!(address.parse::<ListAddress>().unwrap().to_string(), address);
        }
        for wrong in ["", "session", "session:1", "project", "project:work", "team:", "team:a/b", "other:x"] {
            assert!(wrong.parse::<ListAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_item_id_is_a_number_written_as_text() {
        assert_eq!(serde_json::to_value(ItemId(7)).unwrap(), "7");
        assert_eq!(" #7".parse(), Ok(ItemId(7)));
        assert!("seven".parse::<ItemId>().is_err());
        assert!("-1".parse::<ItemId>().is_err());
    }

    #[test]
    fn a_status_has_the_same_name_everywhere() {
        for status in ItemStatus::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(ItemStatus::from_name(status.as_str()), Some(status));
        }
    }
}
