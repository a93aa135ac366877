//! Expensive script files are refused early.

use std::fmt::Write;
use std::time::{Duration, Instant};

use bosun_model::ScriptModel;

fn refused(text: &str) -> String {
    let start = Instant::now();
    let error = ScriptModel::parse(text, "bad.yaml").map(|_| "no error").unwrap_err().to_string();
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
    error
}

const NESTED: &str = "the file is too deeply nested, or its aliases expand too far; simplify it";

#[test]
fn an_alias_bomb() {
    let mut text =
        "version: 1\nrules:\n  - answer:\n    - call:\n        tool: t\n        input:\n          a: &a0 x\n"
            .to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "          a{level}: &a{level} [{aliases}]").unwrap();
    }
    let error = refused(&text);
    assert!(error.ends_with(NESTED), "{error}");
}

#[test]
fn deep_nesting() {
    let flow =
        format!("version: 1\nrules: [ {{ answer: [ {{ call: {{ tool: t, input: {} }} }} ] }} ]", "[".repeat(100_000));
    let block = format!("version: 1\nrules:\n{}", "- ".repeat(100_000));
    let not = format!("version: 1\nrules:\n  - when: {}", "{ not: ".repeat(1000));
    for text in [flow, block, not] {
        refused(&text);
    }
}

#[test]
fn a_huge_file() {
    let text = format!("version: 1\nabout: {}\n", "x".repeat(1 << 20));
    assert_eq!(refused(&text), "the script bad.yaml is larger than 1048576 bytes; split it into several scripts");
}

#[test]
fn too_many_rules() {
    let text = format!("version: 1\nrules:\n{}", "  - answer: []\n".repeat(1001));
    assert_eq!(refused(&text), "bad.yaml:1:1: a script has at most 1000 rules; split it into several scripts");
}

#[test]
fn too_large_expressions() {
    let error = refused("version: 1\nrules:\n  - when: { prompt: '((a{1000}){1000}){1000}' }\n    answer: []");
    assert!(
        error.starts_with("bad.yaml:3:21: `((a{1000}){1000}){1000}` is not a usable regular expression"),
        "{error}"
    );
}

#[test]
fn an_endless_file() {
    let error = ScriptModel::load("/dev/zero".as_ref()).unwrap_err().to_string();
    assert!(error.contains("/dev/zero"), "{error}");
}

#[test]
fn bytes_that_are_not_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes.yaml");
    std::fs::write(&path, b"version: \xff").unwrap();
    let error = ScriptModel::load(&path).unwrap_err().to_string();
    assert!(error.ends_with("bytes.yaml: stream did not contain valid UTF-8"), "{error}");
}

#[test]
fn too_large_file_is_reported_even_if_cut_inside_a_character() {
    let folder = tempfile::tempdir().unwrap();
    for start in ["# ", "#"] {
        let path = folder.path().join("large.yaml");
        std::fs::write(&path, format!("{start}{}", "é".repeat(1 << 20))).unwrap();
        let error = ScriptModel::load(&path).map(|_| "no error").unwrap_err().to_string();
        assert!(error.ends_with("is larger than 1048576 bytes; split it into several scripts"), "{error}");
    }
}
