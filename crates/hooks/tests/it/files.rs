//! Hook files of Copilot and Claude, valid and invalid.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hooks::{HookFileLocation, TextPosition, disables_all, read, read_value};
use insta::assert_snapshot;
use protocol::{HookAction, HookDialect, HookEvent, HookSpec};
use serde_json::json;

fn read_folder(name: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = |path: PathBuf| (path.file_name().unwrap().to_string_lossy().into_owned(), path);
    files.into_iter().map(named).map(|(name, path)| (name, std::fs::read_to_string(path).unwrap())).collect()
}

fn describe(hook: &HookSpec) -> String {
    let HookSpec { event, matcher, action, timeout_ms, failure, dialect, source, programs: _ } = hook;
    let matcher = matcher.as_ref().map(|matcher| format!(" of {matcher}")).unwrap_or_default();
    let action = match action {
        HookAction::Command { command, cwd, env } => format!("run {command} in {cwd:?} with {env:?}"),
        HookAction::Client { id } => format!("ask {id}"),
        HookAction::Http { url, headers, allowed_env } => format!("post to {url} with {headers:?} and {allowed_env:?}"),
    };
    format!("{source}: on {event:?}{matcher} ({dialect:?}, {failure:?}, {timeout_ms} ms) {action}")
}

#[test]
fn files_of_both_families_are_read_as_they_are() {
    let files = read_folder("good");
    assert!(files.len() >= 20);
    let mut page = String::new();
    for (name, text) in files {
        let (hooks, problems) = read(&text, &name, &HookFileLocation::Folder);
        assert_eq!(problems, [], "{name}");
        writeln!(page, "# {name}").unwrap();
        hooks.iter().for_each(|hook| writeln!(page, "{}", describe(hook)).unwrap());
    }
    assert_snapshot!(page);
}

#[test]
fn nothing_that_is_wrong_is_dropped_without_a_word() {
    let files = read_folder("bad");
    assert!(files.len() >= 15);
    let mut page = String::new();
    for (name, text) in files {
        let (hooks, problems) = read(&text, &name, &HookFileLocation::Folder);
        assert!(!problems.is_empty(), "{name}");
        assert!(
            problems.iter().all(|problem| problem.position.is_some() && !problem.remedy.is_empty()),
            "{problems:?}"
        );
        writeln!(page, "# {name}").unwrap();
        problems.iter().for_each(|problem| writeln!(page, "! {problem}").unwrap());
        hooks.iter().for_each(|hook| writeln!(page, "{}", describe(hook)).unwrap());
    }
    assert_snapshot!(page);
}

#[test]
fn plugin_hooks_get_the_folder_of_the_plugin() {
    let text = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"$CLAUDE_PLUGIN_ROOT/x"}]}]}}"#;
    let (hooks, problems) = read(text, "hooks.json", &HookFileLocation::Plugin { root: "/plugins/one".into() });
    assert_eq!(problems, []);
    let HookAction::Command { env, .. } = &hooks[0].action else { panic!() };
    for name in ["PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT"] {
        assert_eq!(env[name], "/plugins/one");
    }
}

#[test]
fn hooks_of_an_agent_are_read_from_a_value() {
    let value = json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "./a" }] }], "Sotp": [] });
    let (hooks, problems) = read_value(&value, "agents/one.md", &HookFileLocation::Folder);
    assert_eq!((hooks.len(), hooks[0].event, hooks[0].dialect), (1, HookEvent::AgentStop, HookDialect::Snake));
    assert_eq!(hooks[0].source, "agents/one.md at Stop.0.hooks.0");
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].to_string(), "agents/one.md: there is no event `Sotp`; did you mean `Stop`?");
}

#[test]
fn positions_count_characters() {
    let (_, problems) = read("{\"hooks\": {\"é\": [], \"öö\": []}}", "x", &HookFileLocation::Folder);
    let positions: Vec<_> = problems.iter().map(|problem| problem.position).collect();
    let at = |column| Some(TextPosition { line: 1, column });
    assert_eq!(positions, [at(17), at(27)]);
}

#[test]
fn only_true_disables_hooks() {
    assert!(disables_all("{\"disableAllHooks\": true}"));
    for text in ["{}", "{\"disableAllHooks\": false}", "{\"disableAllHooks\": \"yes\"}", "nonsense"] {
        assert!(!disables_all(text));
    }
}

proptest::proptest! {
    /// Reading ends for every text.
    #[test]
    fn no_file_breaks_the_reader(text in "[{}\\[\\]\":, a-zA-Z0-9\\\\]{0,200}") {
        let _read = read(&text, "x", &HookFileLocation::Folder);
    }
}
