//! Names and arguments of tools in Copilot's and Claude's dialects.

use protocol::{ArgumentAlias, ArgumentEncoding, HookDialect, TOOLS, ToolEntry, find_tool};
use serde_json::{Map, Value, json};

/// Bosun's name for a tool with this name in a dialect; the name itself if there is none.
pub fn own_tool_name(name: &str, dialect: HookDialect) -> &str {
    named(name, dialect).map_or(name, |tool| tool.name)
}

/// The tool with this name in a dialect.
fn named(name: &str, dialect: HookDialect) -> Option<&'static ToolEntry> {
    TOOLS.iter().find(|tool| names(tool, dialect).contains(&name))
}

fn names(tool: &ToolEntry, dialect: HookDialect) -> &'static [&'static str] {
    match dialect {
        HookDialect::Camel => tool.copilot,
        HookDialect::Snake => tool.claude,
    }
}

/// The name of a tool in a dialect.
pub fn dialect_tool_name(tool: &str, dialect: HookDialect) -> &str {
    find_tool(tool).and_then(|known| names(known, dialect).first().copied()).unwrap_or(tool)
}

/// Whether this is Bosun's name of a tool, or its name in a dialect.
pub fn is_name_of(tool: &str, name: &str, dialect: HookDialect) -> bool {
    tool == name || find_tool(tool).is_some_and(|known| names(known, dialect).contains(&name))
}

/// The built-in tool with this alias, and the dialect of its arguments; `None` if no dialect has such a name.
pub fn tool_by_alias(name: &str) -> Option<(&'static str, HookDialect)> {
    let in_dialect = |dialect: HookDialect| named(name, dialect).map(|tool| (tool.name, dialect));
    in_dialect(HookDialect::Snake).or_else(|| in_dialect(HookDialect::Camel))
}

/// The built-in tool most similar to an unknown name, if any.
pub fn similar_tool(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let is_guess = |tool: &&ToolEntry| tool.guesses.contains(&name.as_str());
    let has_name = |tool: &&ToolEntry| tool.copilot.iter().chain(tool.claude).any(|known| known.to_lowercase() == name);
    TOOLS.iter().find(is_guess).or_else(|| TOOLS.iter().find(has_name)).map(|tool| tool.name)
}

/// Every name of a tool that a matcher may use.
pub(crate) fn all_names(tool: &str) -> Vec<&str> {
    let others = find_tool(tool).into_iter().flat_map(|known| known.copilot.iter().chain(known.claude)).copied();
    std::iter::once(tool).chain(others).collect()
}

fn aliased_arguments(tool: &str) -> &'static [ArgumentAlias] {
    find_tool(tool).map_or(&[], |known| known.arguments)
}

/// The name of an argument in a dialect, if it differs there and its value does not.
pub fn renamed_argument(tool: &str, dialect: HookDialect, argument: &str) -> Option<&'static str> {
    let alias = aliased_arguments(tool).iter().find(|alias| alias.name == argument)?;
    match (dialect, alias.encoding) {
        (HookDialect::Camel, _) => Some(alias.copilot),
        (HookDialect::Snake, ArgumentEncoding::Same) => Some(alias.claude),
        (HookDialect::Snake, ArgumentEncoding::Millis | ArgumentEncoding::Background) => None,
    }
}

/// Converts arguments to a dialect.
pub fn args_to_dialect(tool: &str, dialect: HookDialect, input: Map<String, Value>) -> Map<String, Value> {
    let aliases = aliased_arguments(tool);
    let convert = |(key, value): (String, Value)| match (aliases.iter().find(|alias| alias.name == key), dialect) {
        (None, _) => (key, value),
        (Some(alias), HookDialect::Camel) => (alias.copilot.to_owned(), value),
        (Some(alias), HookDialect::Snake) => (alias.claude.to_owned(), to_claude(alias.encoding, value)),
    };
    input.into_iter().map(convert).collect()
}

/// Converts arguments from a dialect.
pub fn args_from_dialect(tool: &str, dialect: HookDialect, input: Map<String, Value>) -> Map<String, Value> {
    let aliases = aliased_arguments(tool);
    let convert = |(key, value): (String, Value)| {
        let alias = aliases.iter().find(|alias| match dialect {
            HookDialect::Camel => alias.copilot == key,
            HookDialect::Snake => alias.claude == key,
        });
        match (alias, dialect) {
            (None, _) => (key, value),
            (Some(alias), HookDialect::Camel) => (alias.name.to_owned(), value),
            (Some(alias), HookDialect::Snake) => (alias.name.to_owned(), from_claude(alias.encoding, value)),
        }
    };
    input.into_iter().map(convert).collect()
}

fn to_claude(encoding: ArgumentEncoding, value: Value) -> Value {
    match (encoding, value.as_u64(), value.as_str()) {
        (ArgumentEncoding::Millis, Some(seconds), _) => json!(seconds.saturating_mul(1000)),
        (ArgumentEncoding::Background, _, Some(mode)) => json!(mode == "background"),
        (ArgumentEncoding::Same | ArgumentEncoding::Millis | ArgumentEncoding::Background, _, _) => value,
    }
}

fn from_claude(encoding: ArgumentEncoding, value: Value) -> Value {
    match (encoding, value.as_u64(), value.as_bool()) {
        (ArgumentEncoding::Millis, Some(millis), _) => json!(millis.div_ceil(1000)),
        (ArgumentEncoding::Background, _, Some(true)) => json!("background"),
        (ArgumentEncoding::Background, _, Some(false)) => json!("sync"),
        (ArgumentEncoding::Same | ArgumentEncoding::Millis | ArgumentEncoding::Background, _, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_round_trip() {
        let Value::Object(input) = json!({ "path": "a", "old": "b", "new": "c", "other": 1 }) else { panic!() };
        for dialect in [HookDialect::Camel, HookDialect::Snake] {
            let theirs = args_to_dialect("edit", dialect, input.clone());
            assert_eq!(args_from_dialect("edit", dialect, theirs), input);
        }
        let theirs = args_to_dialect("edit", HookDialect::Snake, input);
        assert_eq!((&theirs["file_path"], &theirs["old_string"]), (&json!("a"), &json!("b")));
    }

    #[test]
    fn timeouts_and_modes_use_claude_encoding() {
        let both = [
            ("shell", json!({ "command": "ls", "timeout_secs": 7, "background": true })),
            ("task", json!({ "agent_type": "explore", "mode": "background" })),
            ("task", json!({ "agent_type": "explore", "mode": "sync" })),
        ];
        let theirs = [
            json!({ "command": "ls", "timeout": 7000, "run_in_background": true }),
            json!({ "subagent_type": "explore", "run_in_background": true }),
            json!({ "subagent_type": "explore", "run_in_background": false }),
        ];
        for ((tool, input), expected) in both.into_iter().zip(theirs) {
            let Value::Object(input) = input else { panic!() };
            let converted = args_to_dialect(tool, HookDialect::Snake, input.clone());
            assert_eq!(Value::Object(converted.clone()), expected);
            assert_eq!(args_from_dialect(tool, HookDialect::Snake, converted), input);
        }
        let snake = |name| own_tool_name(name, HookDialect::Snake);
        assert_eq!((snake("Bash"), snake("Task"), snake("mcp__a__b")), ("shell", "task", "mcp__a__b"));
        assert_eq!(own_tool_name("bash", HookDialect::Camel), "shell");
    }

    #[test]
    fn tools_without_aliases_keep_their_name() {
        assert_eq!(dialect_tool_name("sql", HookDialect::Snake), "sql");
        assert_eq!(
            (dialect_tool_name("shell", HookDialect::Snake), dialect_tool_name("shell", HookDialect::Camel)),
            ("Bash", "bash")
        );
        assert_eq!(all_names("shell"), ["shell", "bash", "Bash"]);
        assert_eq!(
            (all_names("until"), dialect_tool_name("until", HookDialect::Snake)),
            (vec!["until", "bash", "Bash"], "Bash")
        );
    }

    #[test]
    fn a_name_of_several_tools_means_the_first() {
        let names = ["Bash", "bash", "Edit", "Write", "Task", "view", "sql"].map(tool_by_alias);
        let (claude, copilot) = (|tool| Some((tool, HookDialect::Snake)), |tool| Some((tool, HookDialect::Camel)));
        let expected = [
            claude("shell"),
            copilot("shell"),
            claude("edit"),
            claude("create"),
            claude("task"),
            copilot("view"),
            None,
        ];
        assert_eq!(names, expected);
        let similar = ["READ_FILE", "find", "KILLSHELL", "Ripgrep", "SQL"].map(similar_tool);
        assert_eq!(similar, [Some("view"), Some("glob"), Some("stop_shell"), Some("grep"), None]);
    }
}
