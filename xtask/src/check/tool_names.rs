//! Tools are listed in one place, the table of `protocol`: a second list would miss the next tool.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{ByteKind, SourceFile, tokens};

/// The table.
const TABLE: &str = "crates/protocol/src/tool_table.rs";

/// The columns of the table that hold names of other products.
const ALIAS_COLUMNS: [&str; 3] = ["copilot: &[", "claude: &[", "bundles: &["];

/// Sources in which the same words mean something else, or which translate other vocabularies.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("crates/config/src/catalog/tool_names.rs", "the vocabularies of other products, mapped to our tools"),
    ("crates/hooks/src/read/entry.rs", "the fields of a hook in a settings file"),
    ("crates/runtime/src/subagents/until.rs", "the type and the name of a task"),
    ("crates/shell-parser/src", "programs and their subcommands"),
    ("crates/store/src", "columns of the store"),
    ("crates/adapters/src/copilot/events/session.rs", "a kind of event in the SDK"),
];

/// The names in the table.
struct ToolNames {
    /// The names by the constant that holds each.
    constants: BTreeMap<String, String>,
    /// Names of other products for the same tools.
    aliases: BTreeSet<String>,
}

/// Every place outside the table that lists tools.
pub(super) fn faults(sources: &[SourceFile]) -> Vec<String> {
    let Some(table) = sources.iter().find(|source| source.path == Path::new(TABLE)) else {
        return vec![format!("tool names: {TABLE} is missing")];
    };
    let names = ToolNames::read(&table.text);
    sources.iter().filter(|source| is_checked(&source.path)).flat_map(|source| names.faults(source)).collect()
}

/// Shipped sources, without the exceptions.
fn is_checked(path: &Path) -> bool {
    let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
    let is_exception = EXCEPTIONS.iter().any(|(exception, _)| path.starts_with(exception));
    path.starts_with("crates") && !is_test && !is_exception && path != Path::new(TABLE)
}

impl ToolNames {
    fn read(table: &str) -> ToolNames {
        let shipped = shipped_part(table);
        let constants = shipped.lines().filter_map(|line| {
            let (constant, value) = line.trim().strip_prefix("pub const ")?.split_once(": &str = \"")?;
            Some((constant.to_owned(), value.strip_suffix("\";")?.to_owned()))
        });
        let columns = ALIAS_COLUMNS.iter().flat_map(|column| shipped.split(column).skip(1));
        let texts = columns.filter_map(|rest| rest.split_once(']')).flat_map(|(list, _)| items(list));
        let aliases = texts.filter_map(|item| match item {
            ListItem::Text { text, .. } => Some(text),
            ListItem::Constant { .. } | ListItem::End => None,
        });
        ToolNames { constants: constants.collect(), aliases: aliases.collect() }
    }

    fn is_name(&self, text: &str) -> bool {
        self.aliases.contains(text) || self.constants.values().any(|name| name == text)
    }

    fn faults(&self, source: &SourceFile) -> Vec<String> {
        let mut faults = Vec::new();
        let mut list: Vec<(String, usize)> = Vec::new();
        for item in items(shipped_part(&source.text)).into_iter().chain([ListItem::End]) {
            match item {
                ListItem::Text { text, line } if self.is_name(&text) => {
                    if is_unmistakable(&text) {
                        let place = source.path.display();
                        faults.push(format!("tool names: {place}:{line} spells `{text}`: use protocol::tool_name"));
                    }
                    list.push((text, line));
                }
                ListItem::Text { .. } => {}
                ListItem::Constant { constant, line } => {
                    list.extend(self.constants.get(&constant).map(|name| (name.clone(), line)));
                }
                ListItem::End => faults.extend(list_fault(&source.path, &std::mem::take(&mut list))),
            }
        }
        faults
    }
}

/// A list of two different tools or more.
fn list_fault(path: &Path, list: &[(String, usize)]) -> Option<String> {
    let (first, line) = list.first()?;
    let second = list.iter().find(|(name, _)| name != first)?;
    let names = format!("`{first}`, `{}`", second.0);
    Some(format!("tool names: {}:{line} lists {names}: add a column to {TABLE} instead", path.display()))
}

/// Whether a name is no ordinary word: it has an underscore, or a capital after the first letter.
fn is_unmistakable(name: &str) -> bool {
    name.contains('_') || name.chars().skip(1).any(char::is_uppercase)
}

/// The text before the tests.
fn shipped_part(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests").map_or(text, |(shipped, _)| shipped)
}

/// A part of a list of names.
enum ListItem {
    Text { text: String, line: usize },
    Constant { constant: String, line: usize },
    End,
}

/// The texts and the constants of tools, in order. Whatever does not belong into a list of names or of patterns ends one.
fn items(source: &str) -> Vec<ListItem> {
    let (mut items, mut word, mut line) = (Vec::new(), String::new(), 1);
    for (kind, range) in tokens(source) {
        let token = &source.as_bytes()[range.clone()];
        let is_in_word = kind == ByteKind::Code && (token[0].is_ascii_alphanumeric() || b"_:".contains(&token[0]));
        if is_in_word {
            word.push(char::from(token[0]));
            continue;
        }
        if !word.is_empty() {
            items.push(word_item(&std::mem::take(&mut word), line));
        }
        match kind {
            ByteKind::Literal => items.push(literal_item(&source[range], line)),
            ByteKind::Code if !b",|&[]()".contains(&token[0]) && !token[0].is_ascii_whitespace() => {
                items.push(ListItem::End);
            }
            ByteKind::Code | ByteKind::Comment => {}
        }
        line += token.iter().filter(|&&byte| byte == b'\n').count();
    }
    items
}

fn word_item(word: &str, line: usize) -> ListItem {
    match word.split_once("tool_name::") {
        Some((_, constant)) => ListItem::Constant { constant: constant.to_owned(), line },
        None => ListItem::End,
    }
}

fn literal_item(literal: &str, line: usize) -> ListItem {
    match literal.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"')) {
        Some((text, _)) => ListItem::Text { text: text.to_owned(), line },
        None => ListItem::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE_TEXT: &str = r#"
pub mod tool_name {
    /// Shows a file.
    pub const VIEW: &str = "view";
    pub const SHELL: &str = "shell";
    pub const WEB_FETCH: &str = "web_fetch";
}
pub static TOOLS: [ToolEntry; 3] = [
    ToolEntry { claude: &["Read"], ..plain(VIEW) },
    ToolEntry { copilot: &["bash"], claude: &["Bash"], ..plain(SHELL) },
    ToolEntry { claude: &["WebFetch"], ..plain(WEB_FETCH) },
];
"#;

    fn faults_of(path: &str, text: &str) -> Vec<String> {
        let source = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
        faults(&[source(TABLE, TABLE_TEXT), source(path, text)])
    }

    #[test]
    fn a_list_of_tools_outside_the_table_is_named() {
        let list = "\nconst READERS: [&str; 2] = [\n    \"view\",\n    \"Bash\",\n];";
        let fault = "tool names: crates/runtime/src/a.rs:3 lists `view`, `Bash`: \
                     add a column to crates/protocol/src/tool_table.rs instead";
        assert_eq!(faults_of("crates/runtime/src/a.rs", list), [fault]);
        for list in [
            "match name { \"view\" | \"shell\" => 1, _ => 2 }",
            "matches!(name, tool_name::VIEW | tool_name::SHELL)",
            "[protocol::tool_name::VIEW, \"bash\"]",
            "[(\"x\", \"view\"), (\"y\", \"Read\")]",
            "[r#\"view\"#, // \"a comment\"\n \"say \\\"no\\\"\", \"Read\"]",
        ] {
            assert_eq!(faults_of("crates/runtime/src/a.rs", list).len(), 1, "{list}");
        }
    }

    #[test]
    fn a_tool_name_outside_the_table_is_named() {
        let text = "fn f(tool: &str) -> bool {\n    tool == \"web_fetch\"\n}";
        let fault = "tool names: crates/cli/src/a.rs:2 spells `web_fetch`: use protocol::tool_name";
        assert_eq!(faults_of("crates/cli/src/a.rs", text), [fault]);
        assert_eq!(faults_of("crates/cli/src/a.rs", "f(\"WebFetch\")").len(), 1);
    }

    #[test]
    fn words_that_list_no_tools_are_allowed() {
        for text in [
            "match name { tool_name::VIEW => 1, tool_name::SHELL => 2, _ => 3 }",
            "// [\"view\", \"shell\"]",
            "json!({ \"view\": 1, \"shell\": 2 })",
            "const HEADERS: [&str; 2] = [\"view\", \"age\"];",
            "[\"view\", \"view\"]",
            "\"the tools view, shell and web_fetch\"",
            "#[cfg(test)]\nmod tests { const ALL: [&str; 2] = [\"view\", \"web_fetch\"]; }",
        ] {
            assert_eq!(faults_of("crates/runtime/src/a.rs", text), [""; 0], "{text}");
        }
        let list = "[\"view\", \"web_fetch\"]";
        let elsewhere = ["crates/runtime/tests/it/a.rs", "crates/cli/src/live/tests.rs", "testkit/src/a.rs"];
        for path in elsewhere.into_iter().chain(EXCEPTIONS.map(|(path, _)| path)) {
            assert_eq!(faults_of(path, list), [""; 0], "{path}");
        }
        assert_eq!(faults(&[]), ["tool names: crates/protocol/src/tool_table.rs is missing"]);
    }
}
