//! Settings as a list of keys, values and origins.

use serde_json::Value as Json;

use crate::file::SettingsFile;
use crate::origin::SettingOrigin;

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingValue {
    /// Its key, such as `limits.live`. A list has one setting per entry.
    pub key: String,
    /// Its value.
    pub value: Json,
    /// Its origin.
    pub origin: SettingOrigin,
}

/// All settings of a file, by key. Lists stay whole.
pub(crate) fn flatten(file: &SettingsFile) -> Vec<(String, Json)> {
    let mut settings = Vec::new();
    // Settings consist of numbers, strings, lists and tables, so this cannot fail.
    if let Ok(whole) = serde_json::to_value(file) {
        flatten_into(String::new(), whole, &mut settings);
    }
    settings
}

/// The key of a setting below these names.
pub(crate) fn key_of(names: &[String]) -> String {
    names.iter().map(|name| quote_key(name.clone())).collect::<Vec<_>>().join(".")
}

fn flatten_into(key: String, value: Json, settings: &mut Vec<(String, Json)>) {
    match value {
        Json::Null => {}
        Json::Array(list) if list.is_empty() => {}
        Json::Object(table) => {
            for (name, value) in table {
                let name = quote_key(name);
                let key = if key.is_empty() { name } else { format!("{key}.{name}") };
                flatten_into(key, value, settings);
            }
        }
        value @ (Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) => settings.push((key, value)),
    }
}

/// Quotes a name for use in a key, if needed.
fn quote_key(name: String) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_bare { name } else { format!("{name:?}") }
}
