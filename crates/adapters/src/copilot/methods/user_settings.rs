//! `user.settings.*`: Bosun's settings, as far as they are plain values. What a client sets applies to the sessions that
//! clients with its base directory open; Bosun's own settings files stay as they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::api::{Method, SettingView, SettingsParams, SettingsView};
use rpc::ErrorObject;
use serde_json::{Map, Value, json};

use super::unhandled;
use crate::copilot::client_state::{ClientState, ClientStateError};
use crate::copilot::connection::CopilotConnection;

/// The file with the values that clients have set, by key.
const FILE: &str = "settings.json";

/// Settings that clients set in other ways: for a session, or with a person's consent.
const RESERVED: [&str; 5] = ["permissions", "providers", "mcp", "environment", "managed"];

/// The values that clients have set.
type SetValues = BTreeMap<String, Value>;

pub(super) async fn call(
    connection: &Arc<CopilotConnection>,
    method: &str,
    params: &Value,
) -> Result<Value, ErrorObject> {
    match method {
        "user.settings.get" => get(connection).await,
        "user.settings.set" => set(connection, &params["settings"]).await,
        // The files are read whenever they are needed.
        "user.settings.reload" => Ok(Value::Null),
        other => Err(unhandled(other)),
    }
}

/// The values that clients have set, as the JSON text of a settings file; none if there are none.
pub(crate) fn settings_text(state: &ClientState) -> Result<Option<String>, ClientStateError> {
    let values: SetValues = state.read(FILE)?;
    let mut file = Map::new();
    for (key, value) in &values {
        insert_nested(&mut file, key, value);
    }
    Ok((!file.is_empty()).then(|| Value::Object(file).to_string()))
}

fn insert_nested(table: &mut Map<String, Value>, key: &str, value: &Value) {
    match key.split_once('.') {
        Some((table_name, rest)) => {
            let inner = table.entry(table_name).or_insert_with(|| json!({}));
            if let Some(inner) = inner.as_object_mut() {
                insert_nested(inner, rest, value);
            }
        }
        None => drop(table.insert(key.to_owned(), value.clone())),
    }
}

async fn get(connection: &CopilotConnection) -> Result<Value, ErrorObject> {
    let set: SetValues = connection.server().state.read(FILE).map_err(ErrorObject::internal)?;
    let settings = available(connection).await?.into_iter().map(|SettingView { key, value, .. }| {
        let own = set.get(&key);
        let view = json!({ "value": own.unwrap_or(&value), "default": value, "isDefault": own.is_none() });
        (key, view)
    });
    Ok(json!({ "settings": settings.collect::<Map<String, Value>>() }))
}

/// Sets values; null restores the default.
async fn set(connection: &CopilotConnection, wanted: &Value) -> Result<Value, ErrorObject> {
    let wanted = wanted.as_object().ok_or_else(|| ErrorObject::bad_params("`settings` is not an object"))?;
    let available = available(connection).await?;
    for (key, value) in wanted.iter().filter(|(_, value)| !value.is_null()) {
        let known = available.iter().find(|setting| setting.key == *key);
        let known = known.ok_or_else(|| ErrorObject::bad_params(format!("there is no setting `{key}` for clients")))?;
        if std::mem::discriminant(&known.value) != std::mem::discriminant(value) {
            return Err(ErrorObject::bad_params(format!("`{key}` does not fit: its value is like {}", known.value)));
        }
    }
    let changed = connection.server().state.change(FILE, |values: &mut SetValues| -> Result<(), ClientStateError> {
        for (key, value) in wanted {
            match value {
                Value::Null => drop(values.remove(key)),
                value => drop(values.insert(key.clone(), value.clone())),
            }
        }
        Ok(())
    });
    changed.map_err(ErrorObject::internal)?;
    Ok(json!({ "shadowedKeys": [] }))
}

/// The settings that clients may set.
async fn available(connection: &CopilotConnection) -> Result<Vec<SettingView>, ErrorObject> {
    let SettingsView { settings, .. } =
        connection.server().ask_settings(Method::SettingsGet, SettingsParams::default()).await?;
    let is_plain = |setting: &SettingView| {
        let table = setting.key.split('.').next().unwrap_or_default();
        let is_value = matches!(setting.value, Value::Bool(_) | Value::Number(_) | Value::String(_));
        is_value && !RESERVED.contains(&table)
    };
    Ok(settings.into_iter().filter(is_plain).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_tables() {
        let mut file = Map::new();
        insert_nested(&mut file, "limits.live", &json!(4));
        insert_nested(&mut file, "limits.depth", &json!(2));
        insert_nested(&mut file, "model", &json!("script/a.yaml"));
        assert_eq!(Value::Object(file), json!({ "limits": { "live": 4, "depth": 2 }, "model": "script/a.yaml" }));
    }
}
