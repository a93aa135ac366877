//! `docs/adapters.md` is made of the tables with which the tests of the SDKs send every option.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What may happen to an option, as the tables name it and as the page does.
const OUTCOMES: [(&str, &str); 4] =
    [("served", "served"), ("warned", "a warning"), ("refused", "refused"), ("sdk", "stays in the SDK")];

const INTRODUCTION: &str = "\
# Options of the SDKs

Every option of the published types of the [SDKs](sdks.md), and what happens to it. This page is made of the tables with
which tests send every option through the real SDKs; `cargo xtask schema` writes it. A new option of an SDK, or one to
which something else happens, fails these tests.

- **served**: the option has its meaning. Where a value is named, that value has.
- **a warning**: the session runs, and the option has no effect; the client is told with the sentence in quotes.
- **refused**: the session is not opened; the error contains the sentence in quotes.
- **stays in the SDK**: the option concerns the SDK itself.
";

/// A section of the page: its title, what the warnings are, its table, the languages, and which rows it has.
struct Section {
    title: &'static str,
    about: &'static str,
    table: &'static str,
    languages: [(&'static str, &'static str); 2],
    of: Option<&'static str>,
}

const CLAUDE: [(&str, &str); 2] = [("python", "Python"), ("typescript", "TypeScript")];
const COPILOT: [(&str, &str); 2] = [("python", "Python"), ("node", "node")];

const SECTIONS: [Section; 5] = [
    Section {
        title: "The Claude Agent SDKs",
        about: "A warning is a message of the subtype `informational` in the first turn, and a line on standard error.\n\
                Shown by `every_option_of_claude_in_python_is_served_refused_or_warned_of` and\n\
                `every_option_of_claude_in_typescript_is_served_refused_or_warned_of`.",
        table: "claude",
        languages: CLAUDE,
        of: None,
    },
    Section {
        title: "The Copilot SDKs: clients",
        about: "A warning is a `session.warning` with the first message of each session. Shown, like the tables below, by\n\
                `every_option_of_copilot_in_node_is_served_refused_or_warned_of` and\n\
                `every_option_of_copilot_in_python_is_served_refused_or_warned_of`.",
        table: "copilot",
        languages: COPILOT,
        of: Some("client"),
    },
    Section {
        title: "The Copilot SDKs: sessions",
        about: "A warning is a `session.warning` with the first message.",
        table: "copilot",
        languages: COPILOT,
        of: Some("session"),
    },
    Section {
        title: "The Copilot SDKs: resumed sessions",
        about: "These exist in addition to the options of sessions.",
        table: "copilot",
        languages: COPILOT,
        of: Some("resume"),
    },
    Section {
        title: "The Copilot SDKs: messages",
        about: "A warning is a `session.warning` with the message.",
        table: "copilot",
        languages: COPILOT,
        of: Some("message"),
    },
];

#[test]
#[expect(clippy::disallowed_methods, reason = "lets a person have the test rewrite the file")]
fn the_page_of_options_is_the_one_that_is_checked_in() {
    let (path, generated) = (workspace_path("docs/adapters.md"), page());
    if std::env::var_os("BOSUN_BLESS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let checked_in = fs::read_to_string(&path).unwrap();
    assert!(checked_in == generated, "docs/adapters.md is not up to date: run `cargo xtask schema`");
}

#[test]
fn every_row_says_what_happens_and_how_that_is_known() {
    for table in ["claude", "copilot"] {
        for row in rows(table) {
            let outcomes = OUTCOMES.iter().filter(|(key, _)| row[key].is_string()).count();
            assert_eq!(outcomes, 1, "{row}");
            let is_sent =
                ["value", "python_value", "typescript_value", "node_value"].iter().any(|key| !row[key].is_null());
            assert!(is_sent || row["test"].is_string() || row["sdk"].is_string(), "nothing shows this: {row}");
        }
    }
}

fn workspace_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn rows(table: &str) -> Vec<Value> {
    let path = workspace_path(&format!("crates/cli/tests/sdk/options/{table}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn page() -> String {
    let sections = SECTIONS.iter().map(section).collect::<Vec<_>>();
    format!("{INTRODUCTION}\n{}", sections.join("\n"))
}

fn section(section: &Section) -> String {
    let Section { title, about, languages, .. } = section;
    let [(_, first), (_, second)] = languages;
    let mut text = format!("## {title}\n\n{about}\n\n| {first} | {second} | what happens | |\n|---|---|---|---|\n");
    for row in rows(section.table).iter().filter(|row| section.of.is_none_or(|of| row["of"] == of)) {
        text.push_str(&line(row, languages));
    }
    text
}

fn line(row: &Value, languages: &[(&str, &str); 2]) -> String {
    let name = |(key, _): &(&str, &str)| row[key].as_str().map_or_else(|| "–".to_owned(), |name| format!("`{name}`"));
    let (key, outcome) = OUTCOMES.iter().find(|(key, _)| row[key].is_string()).unwrap();
    let sentence = row[key].as_str().unwrap();
    let sentence = if ["warned", "refused"].contains(key) { format!("“{sentence}”") } else { sentence.to_owned() };
    let note = row["note"].as_str().map_or_else(String::new, |note| format!(": {note}"));
    let test = row["test"].as_str().map_or_else(String::new, |test| format!(": `{test}`"));
    let cells = [name(&languages[0]), name(&languages[1]), format!("{outcome}{note}"), format!("{sentence}{test}")];
    format!("| {} |\n", cells.join(" | "))
}
