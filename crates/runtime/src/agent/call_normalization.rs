//! Calls with the tool and argument names of other agent products, translated to Bosun's names.

use protocol::{ContentBlock, HookDialect, ToolCallRequest};
use serde_json::{Map, Value};

use crate::prepared_agent::PreparedAgent;

/// Translates the calls of an answer to Bosun's names. An ambiguous name stays as it is.
pub(super) fn normalize_calls(prepared: &PreparedAgent, content: &mut [ContentBlock]) {
    for block in content {
        match block {
            ContentBlock::Call(call) => normalize_call(prepared, call),
            ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => {}
        }
    }
}

fn normalize_call(prepared: &PreparedAgent, call: &mut ToolCallRequest) {
    if prepared.tool(&call.tool).is_none() {
        let Some((ours, _)) =
            ::hooks::tool_names::tool_by_alias(&call.tool).filter(|(ours, _)| prepared.tool(ours).is_some())
        else {
            return;
        };
        call.tool = ours.to_owned();
    }
    let Some(tool) = prepared.tool(&call.tool) else { return };
    let Ok(Value::Object(input)) = serde_json::from_str::<Value>(&call.input) else { return };
    let properties = &tool.spec().schema["properties"];
    let is_ours = |name: &str| properties.get(name).is_some();
    if input.keys().all(|name| is_ours(name)) {
        return;
    }
    call.input = Value::Object(normalize_arguments(&call.tool, input, &is_ours)).to_string();
}

/// Renames arguments that the tool does not know to Bosun's names for them.
fn normalize_arguments(tool: &str, input: Map<String, Value>, is_ours: &dyn Fn(&str) -> bool) -> Map<String, Value> {
    let (mut ours, theirs): (Map<_, _>, Map<_, _>) = input.into_iter().partition(|(name, _)| is_ours(name));
    for (name, value) in theirs {
        let one = || Map::from_iter([(name.clone(), value.clone())]);
        let translated = [HookDialect::Snake, HookDialect::Camel].into_iter().find_map(|dialect| {
            ::hooks::tool_names::args_from_dialect(tool, dialect, one()).into_iter().find(|(known, _)| is_ours(known))
        });
        match translated {
            Some((known, value)) if !ours.contains_key(&known) => drop(ours.insert(known, value)),
            Some(_) | None => drop(ours.insert(name, value)),
        }
    }
    ours
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_renamed_where_that_is_plain() {
        let renamed = |tool: &str, input: Value, ours: &[&str]| {
            let Value::Object(input) = input else { panic!() };
            Value::Object(normalize_arguments(tool, input, &|name| ours.contains(&name)))
        };
        let view = renamed("view", json!({ "file_path": "a", "limit": 3 }), &["path", "limit"]);
        assert_eq!(view, json!({ "path": "a", "limit": 3 }));
        let edit = json!({ "path": "a", "old_str": "b", "new_string": "c" });
        assert_eq!(renamed("edit", edit, &["path", "old", "new"]), json!({ "path": "a", "old": "b", "new": "c" }));
        let shell = json!({ "command": "ls", "timeout": 1500, "description": "lists" });
        let expected = json!({ "command": "ls", "timeout_secs": 2, "description": "lists" });
        assert_eq!(renamed("shell", shell, &["command", "timeout_secs"]), expected);
        let both = json!({ "path": "a", "file_path": "b" });
        assert_eq!(renamed("view", both.clone(), &["path"]), both);
    }
}
