//! Calls with the tool and argument names of other agent products, translated to Bosun's names.

use protocol::{ContentBlock, HookDialect, ToolCallRequest, mcp_tool_name, tool_name};
use serde_json::{Map, Value};

use crate::prepared_agent::PreparedAgent;

/// Translates the calls of an answer to Bosun's names. Names that cannot be translated stay as they are.
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
        let own_name = ::hooks::tool_names::tool_by_alias(&call.tool).map(|(own_name, _)| own_name.to_owned());
        let own_name = own_name.into_iter().chain(mcp_names(&call.tool)).find(|name| prepared.tool(name).is_some());
        let Some(own_name) = own_name else { return };
        call.tool = own_name;
    }
    let Some(tool) = prepared.tool(&call.tool) else { return };
    let Ok(Value::Object(input)) = serde_json::from_str::<Value>(&call.input) else { return };
    let properties = &tool.spec().schema["properties"];
    let is_parameter = |name: &str| properties.get(name).is_some();
    if input.keys().all(|name| is_parameter(name)) {
        return;
    }
    call.input = Value::Object(normalize_arguments(&call.tool, input, &is_parameter)).to_string();
}

/// The tools of MCP servers that a name may mean in which a server and its tool are joined with a dash, which either may
/// contain.
fn mcp_names(name: &str) -> impl Iterator<Item = String> {
    name.match_indices('-').map(|(at, _dash)| mcp_tool_name(&name[..at], &name[at + 1..]))
}

/// Gives arguments that are not in the tool's schema Bosun's names, unless the call already has such an argument.
fn normalize_arguments(
    tool: &str,
    input: Map<String, Value>,
    is_parameter: &dyn Fn(&str) -> bool,
) -> Map<String, Value> {
    let (mut arguments, unknown): (Map<_, _>, Map<_, _>) = input.into_iter().partition(|(name, _)| is_parameter(name));
    for (name, value) in unknown {
        if is_label(tool, &name, &value) {
            continue;
        }
        let single_argument = || Map::from_iter([(name.clone(), value.clone())]);
        let translated = [HookDialect::Snake, HookDialect::Camel].into_iter().find_map(|dialect| {
            ::hooks::tool_names::args_from_dialect(tool, dialect, single_argument())
                .into_iter()
                .find(|(parameter, _)| is_parameter(parameter))
        });
        match translated {
            Some((parameter, value)) if !arguments.contains_key(&parameter) => drop(arguments.insert(parameter, value)),
            Some(_) | None => drop(arguments.insert(name, value)),
        }
    }
    arguments
}

/// Whether an argument only says what a call is for, or where it would act in any case.
fn is_label(tool: &str, name: &str, value: &Value) -> bool {
    match (tool, name) {
        (tool_name::SQL, "description") => value.is_string(),
        (tool_name::SQL, "database") => value == "session",
        _other => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dash_may_join_a_server_and_its_tool() {
        assert_eq!(mcp_names("my-db-query").collect::<Vec<_>>(), ["mcp__my__db-query", "mcp__my-db__query"]);
        assert_eq!(mcp_names("view").count(), 0);
    }

    #[test]
    fn arguments_are_renamed_if_unambiguous() {
        let renamed = |tool: &str, input: Value, parameters: &[&str]| {
            let Value::Object(input) = input else { panic!() };
            Value::Object(normalize_arguments(tool, input, &|name| parameters.contains(&name)))
        };
        let view = renamed("view", json!({ "file_path": "a", "limit": 3 }), &["path", "limit"]);
        assert_eq!(view, json!({ "path": "a", "limit": 3 }));
        let edit = json!({ "path": "a", "old_str": "b", "new_string": "c" });
        assert_eq!(renamed("edit", edit, &["path", "old", "new"]), json!({ "path": "a", "old": "b", "new": "c" }));
        let shell = json!({ "command": "ls", "timeout": 1500, "description": "lists" });
        let expected = json!({ "command": "ls", "timeout_secs": 2, "description": "lists" });
        assert_eq!(renamed("shell", shell, &["command", "timeout_secs"]), expected);
        let sql = json!({ "query": "SELECT 1", "description": "counts", "database": "session" });
        assert_eq!(renamed("sql", sql, &["query"]), json!({ "query": "SELECT 1" }));
        let elsewhere = json!({ "query": "SELECT 1", "database": "session_store" });
        assert_eq!(renamed("sql", elsewhere.clone(), &["query"]), elsewhere, "there is no such database");
        let both = json!({ "path": "a", "file_path": "b" });
        assert_eq!(renamed("view", both.clone(), &["path"]), both);
    }
}
