//! The page about adapters names existing tests and the served methods.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ::adapters::copilot::{PublishedMethod, published_methods};
use serde_json::Value;

fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn page() -> String {
    fs::read_to_string(crates().join("../docs/sdks.md")).unwrap()
}

/// All texts between backticks that `wanted` accepts.
fn quoted(page: &str, wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    page.split('`').skip(1).step_by(2).filter(|text| wanted(text)).map(str::to_owned).collect()
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

/// Requests and options that the page names and that look like test names.
const OTHER_NAMES: [&str; 5] =
    ["get_context_usage", "mcp_set_servers", "apply_flag_settings", "permission_prompt_tool_name", "resume_session_at"];

/// Whether a text looks like the name of a test: at least three words.
fn is_test(name: &str) -> bool {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_plain && name.matches('_').count() >= 2 && !OTHER_NAMES.contains(&name)
}

/// The tests that the tables of options name.
fn tests_of_options() -> BTreeSet<String> {
    let tables = ["claude", "copilot"].map(|name| super::program(&format!("options/{name}.jsonl")));
    let rows = tables.iter().flat_map(|table| {
        serde_json::Deserializer::from_str(&fs::read_to_string(table).unwrap())
            .into_iter::<Value>()
            .map(Result::unwrap)
            .collect::<Vec<_>>()
    });
    rows.filter_map(|row| row["test"].as_str().map(str::to_owned)).collect()
}

#[test]
fn every_test_that_the_page_names_exists() {
    let text = sources(crates());
    let known: BTreeSet<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| is_test(word)).collect();
    let mut tests = quoted(&page(), is_test);
    assert!(tests.len() > 40, "{}", tests.len());
    tests.extend(tests_of_options());
    let missing: Vec<&String> = tests.iter().filter(|test| !known.contains(test.as_str())).collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}

#[test]
fn the_page_names_exactly_the_methods_that_are_served() {
    let page = page();
    let named = quoted(&page, |_| true);
    let (served, refused): (Vec<PublishedMethod>, Vec<PublishedMethod>) =
        published_methods().partition(|method| method.is_served);
    let missing: Vec<&str> = served.iter().map(|method| method.name).filter(|name| !named.contains(*name)).collect();
    assert!(missing.is_empty(), "served, and not on the page: {missing:#?}");
    let promised: Vec<&str> = refused.iter().map(|method| method.name).filter(|name| named.contains(*name)).collect();
    assert!(promised.is_empty(), "on the page, and not served: {promised:#?}");
}
