//! Names and arguments of tools in Copilot's and Claude's dialects.

use protocol::HookDialect;
use serde_json::{Map, Value, json};

/// A built-in tool and its aliases.
struct ToolAliases {
    /// Bosun's name.
    own_name: &'static str,
    /// Its names in Copilot's dialect; the first one is sent to hooks.
    camel: &'static [&'static str],
    /// Its names in Claude's dialect.
    pascal: &'static [&'static str],
    args: &'static [ArgAliases],
}

/// One argument and its aliases.
struct ArgAliases {
    own_name: &'static str,
    camel: &'static str,
    snake: &'static str,
    /// How Claude's dialect encodes its value.
    encoding: ArgEncoding,
}

/// How Claude's dialect encodes a value.
#[derive(Clone, Copy)]
enum ArgEncoding {
    /// As Bosun does.
    Same,
    /// In milliseconds instead of seconds.
    Millis,
    /// As a boolean instead of `background` or `sync`.
    Background,
}

const fn arg(ours: &'static str, camel: &'static str, snake: &'static str) -> ArgAliases {
    ArgAliases { own_name: ours, camel, snake, encoding: ArgEncoding::Same }
}

const PATH: ArgAliases = arg("path", "path", "file_path");

const TOOLS: [ToolAliases; 16] = [
    ToolAliases {
        own_name: "shell",
        camel: &["bash"],
        pascal: &["Bash"],
        args: &[
            ArgAliases {
                own_name: "timeout_secs",
                camel: "timeout_secs",
                snake: "timeout",
                encoding: ArgEncoding::Millis,
            },
            arg("background", "background", "run_in_background"),
        ],
    },
    // It runs a command, so hooks on commands must see it.
    ToolAliases { own_name: "until", camel: &["bash"], pascal: &["Bash"], args: &[] },
    ToolAliases { own_name: "view", camel: &["view"], pascal: &["Read"], args: &[PATH] },
    ToolAliases {
        own_name: "edit",
        camel: &["edit", "str_replace"],
        pascal: &["Edit", "MultiEdit"],
        args: &[
            PATH,
            arg("old", "old_str", "old_string"),
            arg("new", "new_str", "new_string"),
            arg("all", "all", "replace_all"),
        ],
    },
    ToolAliases {
        own_name: "create",
        camel: &["create"],
        pascal: &["Write"],
        args: &[PATH, arg("content", "file_text", "content")],
    },
    ToolAliases {
        own_name: "apply_patch",
        camel: &["apply_patch"],
        pascal: &["apply_patch", "Edit", "Write"],
        args: &[],
    },
    ToolAliases {
        own_name: "grep",
        camel: &["grep"],
        pascal: &["Grep"],
        args: &[
            arg("ignore_case", "ignore_case", "-i"),
            arg("context", "context", "-C"),
            arg("limit", "limit", "head_limit"),
        ],
    },
    ToolAliases { own_name: "glob", camel: &["glob"], pascal: &["Glob"], args: &[] },
    ToolAliases { own_name: "web_fetch", camel: &["web_fetch"], pascal: &["WebFetch"], args: &[] },
    ToolAliases {
        own_name: "task",
        camel: &["task"],
        pascal: &["Agent", "Task"],
        args: &[
            arg("agent_type", "agent_type", "subagent_type"),
            ArgAliases {
                own_name: "mode",
                camel: "mode",
                snake: "run_in_background",
                encoding: ArgEncoding::Background,
            },
        ],
    },
    ToolAliases { own_name: "ask_user", camel: &["ask_user"], pascal: &["AskUserQuestion"], args: &[] },
    ToolAliases { own_name: "exit_plan_mode", camel: &["exit_plan_mode"], pascal: &["ExitPlanMode"], args: &[] },
    ToolAliases {
        own_name: "read_shell",
        camel: &["read_bash"],
        pascal: &["BashOutput"],
        args: &[arg("name", "name", "bash_id")],
    },
    ToolAliases {
        own_name: "stop_shell",
        camel: &["stop_bash"],
        pascal: &["KillShell"],
        args: &[arg("name", "name", "shell_id")],
    },
    ToolAliases { own_name: "skill", camel: &["skill"], pascal: &["Skill"], args: &[arg("name", "name", "skill")] },
    ToolAliases { own_name: "write_agent", camel: &["write_agent"], pascal: &["SendMessage"], args: &[] },
];

/// Bosun's name for a tool with this name in a dialect; the name itself if there is none.
pub fn own_tool_name(name: &str, dialect: HookDialect) -> &str {
    let has_name = |known: &&ToolAliases| match dialect {
        HookDialect::Camel => known.camel.contains(&name),
        HookDialect::Snake => known.pascal.contains(&name),
    };
    TOOLS.iter().find(has_name).map_or(name, |known| known.own_name)
}

fn find_aliases(tool: &str) -> Option<&'static ToolAliases> {
    TOOLS.iter().find(|known| known.own_name == tool)
}

/// The name of a tool in a dialect.
pub fn dialect_tool_name(tool: &str, dialect: HookDialect) -> &str {
    let names = find_aliases(tool).map(|known| match dialect {
        HookDialect::Camel => known.camel,
        HookDialect::Snake => known.pascal,
    });
    names.and_then(|names| names.first().copied()).unwrap_or(tool)
}

/// Whether this is Bosun's name of a tool, or its name in a dialect.
pub fn is_name_of(tool: &str, name: &str, dialect: HookDialect) -> bool {
    let theirs = find_aliases(tool).map_or(&[][..], |known| match dialect {
        HookDialect::Camel => known.camel,
        HookDialect::Snake => known.pascal,
    });
    tool == name || theirs.contains(&name)
}

/// The built-in tool with this alias, and the dialect of its arguments; `None` if no dialect has such a name.
pub fn tool_by_alias(name: &str) -> Option<(&'static str, HookDialect)> {
    let named = |dialect: HookDialect| {
        let has_name = |known: &&ToolAliases| match dialect {
            HookDialect::Camel => known.camel.contains(&name),
            HookDialect::Snake => known.pascal.contains(&name),
        };
        TOOLS.iter().find(has_name).map(|known| (known.own_name, dialect))
    };
    named(HookDialect::Snake).or_else(|| named(HookDialect::Camel))
}

/// The built-in tool most similar to an unknown name, if any.
pub fn similar_tool(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let has_name =
        |known: &&ToolAliases| known.camel.iter().chain(known.pascal).any(|theirs| theirs.to_lowercase() == name);
    let common = COMMON_ALIASES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(ours, _)| *ours);
    common.or_else(|| TOOLS.iter().find(has_name).map(|known| known.own_name))
}

/// Names used by models that know neither dialect.
const COMMON_ALIASES: [(&str, &[&str]); 6] = [
    ("view", &["read_file", "readfile", "open_file", "cat", "view_file", "file_read"]),
    ("create", &["write_file", "writefile", "create_file", "file_write", "save_file"]),
    ("edit", &["replace", "edit_file", "update_file", "modify_file", "search_replace"]),
    ("shell", &["run", "run_command", "execute", "execute_command", "terminal", "run_shell_command", "cmd", "sh"]),
    ("grep", &["search", "search_files", "ripgrep", "rg"]),
    ("glob", &["find", "find_files", "list_files", "list_directory", "ls"]),
];

/// Every name of a tool that a matcher may use.
pub(crate) fn all_names(tool: &str) -> Vec<&str> {
    let others = find_aliases(tool).into_iter().flat_map(|known| known.camel.iter().chain(known.pascal)).copied();
    std::iter::once(tool).chain(others).collect()
}

/// Converts arguments to a dialect.
pub fn args_to_dialect(tool: &str, dialect: HookDialect, input: Map<String, Value>) -> Map<String, Value> {
    let args = find_aliases(tool).map_or(&[][..], |known| known.args);
    let convert = |(key, value): (String, Value)| match (args.iter().find(|arg| arg.own_name == key), dialect) {
        (None, _) => (key, value),
        (Some(arg), HookDialect::Camel) => (arg.camel.to_owned(), value),
        (Some(arg), HookDialect::Snake) => (arg.snake.to_owned(), arg.encoding.to_claude(value)),
    };
    input.into_iter().map(convert).collect()
}

/// Converts arguments from a dialect.
pub fn args_from_dialect(tool: &str, dialect: HookDialect, input: Map<String, Value>) -> Map<String, Value> {
    let args = find_aliases(tool).map_or(&[][..], |known| known.args);
    let convert = |(key, value): (String, Value)| {
        let aliases = args.iter().find(|arg| match dialect {
            HookDialect::Camel => arg.camel == key,
            HookDialect::Snake => arg.snake == key,
        });
        match (aliases, dialect) {
            (None, _) => (key, value),
            (Some(arg), HookDialect::Camel) => (arg.own_name.to_owned(), value),
            (Some(arg), HookDialect::Snake) => (arg.own_name.to_owned(), arg.encoding.ours(value)),
        }
    };
    input.into_iter().map(convert).collect()
}

impl ArgEncoding {
    fn to_claude(self, value: Value) -> Value {
        match (self, value.as_u64(), value.as_str()) {
            (ArgEncoding::Millis, Some(seconds), _) => json!(seconds.saturating_mul(1000)),
            (ArgEncoding::Background, _, Some(mode)) => json!(mode == "background"),
            (ArgEncoding::Same | ArgEncoding::Millis | ArgEncoding::Background, _, _) => value,
        }
    }

    fn ours(self, value: Value) -> Value {
        match (self, value.as_u64(), value.as_bool()) {
            (ArgEncoding::Millis, Some(millis), _) => json!(millis.div_ceil(1000)),
            (ArgEncoding::Background, _, Some(true)) => json!("background"),
            (ArgEncoding::Background, _, Some(false)) => json!("sync"),
            (ArgEncoding::Same | ArgEncoding::Millis | ArgEncoding::Background, _, _) => value,
        }
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
}
