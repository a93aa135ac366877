//! The page about doors names tests and methods that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use doors::copilot::published;

/// Everything between backticks that `wanted` holds for.
fn quoted(page: &str, wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    page.split('`').skip(1).step_by(2).filter(|words| wanted(words)).map(str::to_owned).collect()
}

/// The text of every Rust file below a folder.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|ending| ending == "rs") {
                text.push_str(&fs::read_to_string(entry).unwrap());
            }
        }
    }
    text
}

fn is_test(words: &str) -> bool {
    let begins = |row: &str| words.starts_with(row);
    ["d1_", "d2_", "d4_", "d5_", "d6_"].into_iter().any(begins)
}

#[test]
fn d1_d2_every_test_that_the_page_names_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(crates.parent().unwrap().join("docs/doors.md")).unwrap();
    let text = sources(crates);
    let known: BTreeSet<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| is_test(word)).collect();
    let tests = quoted(&page, is_test);
    assert!(tests.len() > 40, "{}", tests.len());
    let missing: Vec<&String> = tests.iter().filter(|test| !known.contains(test.as_str())).collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}

#[test]
fn d1_the_page_names_every_method_that_is_served_and_no_other() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doors.md")).unwrap();
    let served: BTreeSet<&str> = published().filter(|method| method.is_served).map(|method| method.name).collect();
    let named = quoted(&page, |words| words.contains('.') && published().any(|method| method.name == words));
    let named: BTreeSet<&str> = named.iter().map(String::as_str).chain(["connect", "ping"]).collect();
    assert_eq!(served, named);
}
