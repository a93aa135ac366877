//! Checks that a newcomer can search for names: a type name has few meanings, there are no private metaphors, and the
//! glossary stays short.

use std::collections::BTreeMap;
use std::path::Path;

use crate::sources::{ByteKind, SourceFile, only, words};

/// How many types of the workspace may share a name.
const MEANINGS: usize = 2;

/// Maximum number of entries in the glossary.
const ENTRIES: usize = 80;

/// Metaphors that this code once used, with the terms to use instead.
const METAPHORS: [(&str, &str); 19] = [
    ("aide", "merge session"),
    ("census", "tree snapshot"),
    ("chore", "external task"),
    ("clerk", "todo sync"),
    ("crew", "subagents"),
    ("desk", "session context"),
    ("errand", "external task"),
    ("guests", "client extensions"),
    ("harvest", "collect"),
    ("leash", "run handle"),
    ("lookout", "command listener"),
    ("mender", "conflict resolver"),
    ("outfit", "prepared agent"),
    ("outset", "base commit"),
    ("recipe", "cache key"),
    ("scribe", "transcript writer"),
    ("unparted", "stop hooks that have not run"),
    ("wards", "watched runs"),
    ("yard", "merge workspace"),
];

/// Every name that breaks a rule.
pub(super) fn faults(sources: &[SourceFile], glossary: &str) -> Vec<String> {
    [meanings(sources), metaphors(sources), entries(glossary)].concat()
}

/// Names shared by too many types; tests are excluded.
fn meanings(sources: &[SourceFile]) -> Vec<String> {
    let mut types: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !is_test(&source.path)) {
        for name in defined(&source.text) {
            types.entry(name).or_default().push(&source.path);
        }
    }
    let many = types.into_iter().filter(|(_, paths)| paths.len() > MEANINGS);
    many.map(|(name, paths)| {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        format!("names: {} types are called {name}: {}", paths.len(), paths.join(", "))
    })
    .collect()
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs" || part == "examples")
}

/// The types that a file defines outside its tests.
fn defined(text: &str) -> Vec<String> {
    let code = only(text, &[ByteKind::Code]);
    let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let line = |line: &str| {
        let mut words = words(line).skip_while(|word| matches!(*word, "pub" | "crate" | "super" | "in" | "unsafe"));
        let kind = words.next()?;
        // An indented alias belongs to a trait or to an implementation of one.
        let is_type =
            matches!(kind, "struct" | "enum" | "trait" | "union") || (kind == "type" && !line.starts_with(' '));
        words.next().filter(|name| is_type && name.starts_with(char::is_uppercase)).map(str::to_owned)
    };
    code.lines().filter_map(line).collect()
}

/// Finds words of the list in names, comments and texts.
fn metaphors(sources: &[SourceFile]) -> Vec<String> {
    let own = Path::new("xtask/src/check/names.rs");
    let mut faults = Vec::new();
    for source in sources.iter().filter(|source| source.path != own) {
        for (number, line) in source.text.lines().enumerate() {
            for word in words(line).flat_map(parts) {
                let plain = word.strip_suffix('s').unwrap_or(&word);
                if let Some((_, better)) = METAPHORS.iter().find(|(known, _)| *known == word || *known == plain) {
                    let path = source.path.display();
                    faults.push(format!("names: {path}:{} says {word}; say {better}", number + 1));
                }
            }
        }
    }
    faults
}

/// The parts of a name, in lower case.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in name.chars() {
        if (letter == '_' || letter.is_uppercase()) && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if letter != '_' {
            parts.iter_mut().last().into_iter().for_each(|part| part.extend(letter.to_lowercase()));
        }
    }
    parts
}

fn entries(glossary: &str) -> Vec<String> {
    let count = glossary.lines().filter(|line| line.starts_with("**") && line.contains("**:")).count();
    let many = format!("names: the glossary has {count} entries, and {ENTRIES} are enough");
    if count > ENTRIES { vec![many] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_type_name_with_three_meanings_is_named() {
        let sources = [
            source("crates/a/src/one.rs", "pub(crate) struct Place;\n"),
            source("crates/b/src/two.rs", "/// struct Row\nenum Place {}\nimpl A for B {\n    type Place = u8;\n}\n"),
            source("crates/b/tests/it/main.rs", "struct Place;\n"),
            source("crates/c/src/four.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    struct Place;\n}\n"),
        ];
        assert_eq!(meanings(&sources), Vec::<String>::new());
        let third = source("xtask/src/three.rs", "pub type Place = u8;\n");
        let all: Vec<SourceFile> = sources.into_iter().chain([third]).collect();
        assert_eq!(
            meanings(&all),
            ["names: 3 types are called Place: crates/a/src/one.rs, crates/b/src/two.rs, xtask/src/three.rs"]
        );
    }

    #[test]
    fn a_metaphor_is_named_wherever_it_stands() {
        let text = "// The crews of an agent.\nlet session_desk = OutfitState::new(\"screws\");\n";
        assert_eq!(
            metaphors(&[source("crates/a/src/one.rs", text)]),
            [
                "names: crates/a/src/one.rs:1 says crews; say subagents",
                "names: crates/a/src/one.rs:2 says desk; say session context",
                "names: crates/a/src/one.rs:2 says outfit; say prepared agent",
            ]
        );
    }

    #[test]
    fn a_long_glossary_is_named() {
        let glossary = |count: usize| (0..count).map(|n| format!("**Word {n}**: what it is.\n\n")).collect::<String>();
        assert_eq!(entries(&glossary(80)), Vec::<String>::new());
        assert_eq!(entries(&glossary(81)), ["names: the glossary has 81 entries, and 80 are enough"]);
    }
}
