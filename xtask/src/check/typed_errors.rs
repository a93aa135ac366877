//! The errors of the crates that carry out decisions are types, never texts: each says what is wrong, and its hint says
//! what to do about it.

use crate::sources::{ByteKind, SourceFile, only, shipped};

/// The crates.
const CRATES: [&str; 2] = ["runtime", "fleet"];

/// Texts as errors.
const TEXTS: [&str; 4] = ["String", "&str", "&'static str", "Arc<str>"];

/// Every result whose error is a text.
pub(super) fn faults(sources: &[SourceFile]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in shipped(sources) {
        if !CRATES.contains(&source.owner()) {
            continue;
        }
        let code = only(&source.text, &[ByteKind::Code]);
        for (at, name) in code.match_indices("Result<") {
            let error = last_argument(&code[at + name.len()..]);
            if let Some(text) = error.filter(|error| TEXTS.contains(error)) {
                let line = code[..at].matches('\n').count() + 1;
                let place = format!("{}:{line}", source.path.display());
                faults.push(format!("errors: {place} has a {text} as its error: use a thiserror enum of its module"));
            }
        }
    }
    faults
}

/// The last of several type arguments, from the text after their opening bracket.
fn last_argument(code: &str) -> Option<&str> {
    let (mut depth, mut start) = (0_u32, None);
    for (at, letter) in code.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            // The arrow of a function's type closes nothing.
            '>' if code[..at].ends_with('-') => {}
            '>' | ')' | ']' if depth > 0 => depth -= 1,
            '>' => return start.map(|start: usize| code[start..at].trim().trim_end_matches(',').trim_end()),
            ',' if depth == 0 && !code[at + 1..].trim_start().starts_with('>') => start = Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_in(path: &str, text: &str) -> Vec<String> {
        faults(&[SourceFile { path: path.into(), text: text.into() }])
    }

    #[test]
    fn a_text_as_an_error_is_named() {
        for (text, error) in [
            ("\nfn f() -> Result<(), String> {}", "String"),
            ("\nfn f() -> BoxFuture<'_, Result<Vec<A>, String>>;", "String"),
            ("\nreply: Sender<Result<A<B, C>, &'static str>>,", "&'static str"),
            ("\nedit: Result<fn(A) -> B, String>", "String"),
            ("\nfn f() -> Result<\n    BTreeMap<A, (B, C)>,\n    String,\n>;", "String"),
        ] {
            let path = "crates/runtime/src/a.rs";
            let fault = format!("errors: {path}:2 has a {error} as its error: use a thiserror enum of its module");
            assert_eq!(faults_in(path, text), [fault], "{text}");
        }
        assert_eq!(faults_in("crates/runtime/src/a.rs", "Result<Result<A, E>, String> | Result<B, String>").len(), 2);
    }

    #[test]
    fn typed_errors_other_crates_and_tests_are_allowed() {
        let path = "crates/runtime/src/a.rs";
        for text in [
            "fn f() -> Result<String, E>",
            "fn f() -> Result<BTreeMap<A, String>, E<String>>",
            "type Result<T> = std::result::Result<T, E>; fn f() -> Result<String>",
            "// Result<A, String>\nlet a = \"Result<A, String>\";",
            "#[cfg(test)]\nmod tests { fn f() -> Result<A, String> {} }",
        ] {
            assert_eq!(faults_in(path, text), [""; 0], "{text}");
        }
        let elsewhere = ["crates/cli/src/a.rs", "crates/runtime/tests/it/a.rs", "testkit/src/a.rs"];
        for path in elsewhere {
            assert_eq!(faults_in(path, "fn f() -> Result<A, String>"), [""; 0], "{path}");
        }
    }
}
