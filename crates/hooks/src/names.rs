//! Tools in the words of both families: their names, and the names of their arguments.

use protocol::HookDialect;
use serde_json::{Map, Value};

/// One tool of ours as others know it.
struct Known {
    ours: &'static str,
    /// Its names in the first family, the one it is told by first.
    camel: &'static [&'static str],
    /// The same in the second.
    pascal: &'static [&'static str],
    /// Its arguments: ours, the first family's, the second's.
    args: &'static [(&'static str, &'static str, &'static str)],
}

const PATH: (&str, &str, &str) = ("path", "path", "file_path");

const TOOLS: [Known; 13] = [
    Known { ours: "shell", camel: &["bash"], pascal: &["Bash"], args: &[] },
    // It runs a command, and whoever watches over commands is to see it.
    Known { ours: "until", camel: &["bash"], pascal: &["Bash"], args: &[] },
    Known { ours: "view", camel: &["view"], pascal: &["Read"], args: &[PATH] },
    Known {
        ours: "edit",
        camel: &["edit"],
        pascal: &["Edit", "MultiEdit"],
        args: &[
            PATH,
            ("old", "old_str", "old_string"),
            ("new", "new_str", "new_string"),
            ("all", "all", "replace_all"),
        ],
    },
    Known {
        ours: "create",
        camel: &["create"],
        pascal: &["Write"],
        args: &[PATH, ("content", "file_text", "content")],
    },
    Known { ours: "apply_patch", camel: &["apply_patch"], pascal: &["apply_patch", "Edit", "Write"], args: &[] },
    Known { ours: "grep", camel: &["grep"], pascal: &["Grep"], args: &[] },
    Known { ours: "glob", camel: &["glob"], pascal: &["Glob"], args: &[] },
    Known { ours: "web_fetch", camel: &["web_fetch"], pascal: &["WebFetch"], args: &[] },
    Known {
        ours: "task",
        camel: &["task"],
        pascal: &["Task", "Agent"],
        args: &[("agent_type", "agent_type", "subagent_type")],
    },
    Known { ours: "ask_user", camel: &["ask_user"], pascal: &["AskUserQuestion"], args: &[] },
    Known { ours: "read_shell", camel: &["read_bash"], pascal: &["BashOutput"], args: &[] },
    Known { ours: "stop_shell", camel: &["stop_bash"], pascal: &["KillShell"], args: &[] },
];

fn known(tool: &str) -> Option<&'static Known> {
    TOOLS.iter().find(|known| known.ours == tool)
}

/// The name a family knows a tool by.
pub fn told(tool: &str, dialect: HookDialect) -> &str {
    let names = known(tool).map(|known| match dialect {
        HookDialect::Camel => known.camel,
        HookDialect::Snake => known.pascal,
    });
    names.and_then(|names| names.first().copied()).unwrap_or(tool)
}

/// The tool of ours that a family knows by this name.
pub fn ours(name: &str, dialect: HookDialect) -> &str {
    let is_it = |known: &&Known| match dialect {
        HookDialect::Camel => known.camel.contains(&name),
        HookDialect::Snake => known.pascal.contains(&name),
    };
    TOOLS.iter().find(is_it).map_or(name, |known| known.ours)
}

/// Every name that a matcher may mean a tool by.
pub(crate) fn all(tool: &str) -> Vec<&str> {
    let others = known(tool).into_iter().flat_map(|known| known.camel.iter().chain(known.pascal)).copied();
    std::iter::once(tool).chain(others).collect()
}

/// Arguments in a family's words.
pub fn to_theirs(tool: &str, dialect: HookDialect, input: Map<String, Value>) -> Map<String, Value> {
    renamed(input, pairs(tool, dialect).collect())
}

/// Arguments that a hook gave back, in ours.
pub fn to_ours(tool: &str, dialect: HookDialect, input: Map<String, Value>) -> Map<String, Value> {
    renamed(input, pairs(tool, dialect).map(|(ours, theirs)| (theirs, ours)).collect())
}

fn pairs(tool: &str, dialect: HookDialect) -> impl Iterator<Item = (&'static str, &'static str)> {
    known(tool).into_iter().flat_map(|known| known.args).map(move |(ours, camel, snake)| match dialect {
        HookDialect::Camel => (*ours, *camel),
        HookDialect::Snake => (*ours, *snake),
    })
}

fn renamed(input: Map<String, Value>, names: Vec<(&str, &str)>) -> Map<String, Value> {
    let name = |key: String| match names.iter().find(|(from, _)| *from == key) {
        Some((_, to)) => (*to).to_owned(),
        None => key,
    };
    input.into_iter().map(|(key, value)| (name(key), value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_come_back_as_they_went() {
        let Value::Object(input) = json!({ "path": "a", "old": "b", "new": "c", "other": 1 }) else { panic!() };
        for dialect in [HookDialect::Camel, HookDialect::Snake] {
            let theirs = to_theirs("edit", dialect, input.clone());
            assert_eq!(to_ours("edit", dialect, theirs), input);
        }
        let theirs = to_theirs("edit", HookDialect::Snake, input);
        assert_eq!((&theirs["file_path"], &theirs["old_string"]), (&json!("a"), &json!("b")));
    }

    #[test]
    fn a_tool_that_nobody_else_has_goes_by_its_own_name() {
        assert_eq!(told("sql", HookDialect::Snake), "sql");
        assert_eq!((told("shell", HookDialect::Snake), told("shell", HookDialect::Camel)), ("Bash", "bash"));
        assert_eq!(all("shell"), ["shell", "bash", "Bash"]);
        assert_eq!((all("until"), told("until", HookDialect::Snake)), (vec!["until", "bash", "Bash"], "Bash"));
    }
}
