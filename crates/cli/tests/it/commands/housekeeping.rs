//! `bosun gc` and `bosun script`.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::normalized;
use crate::fixture;
use crate::scripts::{HELLO, turns};

/// The report if there were no checkouts to clean up.
fn no_checkouts() -> Value {
    json!({ "removed": 0, "trashed": 0, "emptied": 0, "bytes": 0 })
}

/// The report if no repository had refs of sessions.
fn no_refs() -> Value {
    json!({ "removed": 0, "unlanded": 0, "landings": 0 })
}

#[test]
fn old_sessions_are_removed_unless_they_have_work() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("old").run().expect(0);
    let old = fixture.newest();
    fixture.script(&turns(5));
    fixture.prompt("at work").env("BOSUN_FAULT", "after-commit:12").discard_output().run().expect_killed();
    let young = fixture.bosun(["gc"]).run().expect(0);
    assert_eq!((&*young.stdout, &*young.stderr), ("", "0 removed, 2 kept\n"));
    let dry = fixture.bosun(["gc", "--days", "0", "--dry-run"]).run().expect(0);
    assert!(dry.stdout.starts_with(&old) && dry.stdout.ends_with("old\n"), "{}", dry.stdout);
    assert_eq!(dry.stderr, "1 would be removed, 1 kept\n");
    let none = json!({ "removed": 0, "bytes": 0 });
    let dry = fixture.bosun(["gc", "--days", "0", "--dry-run", "--json"]).run().expect(0).json();
    assert_eq!(
        dry,
        json!({ "removed": [old], "kept": 1, "failed": [], "outputs": none, "results": 0, "checkouts": no_checkouts(),
            "refs": no_refs(), "fileCopies": none, "dryRun": true })
    );
    assert_eq!(fixture.sessions().len(), 2);
    let gone = fixture.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(
        gone,
        json!({ "removed": [old], "kept": 1, "failed": [], "outputs": none, "results": 0, "checkouts": no_checkouts(),
            "refs": no_refs(), "fileCopies": none, "dryRun": false })
    );
    assert_eq!(fixture.sessions().len(), 1);
    assert!(!fixture.session_dir(&old).exists());
    assert_eq!(fixture.bosun(["--continue"]).run().expect(0).stdout, "Done.\n");
}

#[test]
fn session_with_events_newer_than_the_index_is_kept() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("old").run().expect(0);
    fixture
        .bosun(["--continue", "-p", "more"])
        .env("BOSUN_FAULT", "after-commit:11")
        .discard_output()
        .run()
        .expect_killed();
    let none = json!({ "removed": 0, "bytes": 0 });
    let kept = fixture.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    let rest = json!({ "removed": [], "kept": 1, "failed": [], "outputs": none, "results": 0, "checkouts": no_checkouts(),
            "refs": no_refs(), "fileCopies": none, "dryRun": false });
    assert_eq!(kept, rest);
    assert_eq!(fixture.bosun(["--continue"]).run().expect(0).stdout, "Hello.\n");
}

#[test]
fn sessions_that_never_started_are_removed() {
    let fixture = fixture();
    fixture
        .script(HELLO)
        .prompt("stillborn")
        .env("BOSUN_FAULT", "before-commit:1")
        .discard_output()
        .run()
        .expect_killed();
    let folders = || fs::read_dir(fixture.home().join("sessions")).unwrap().count();
    assert_eq!((folders(), fixture.sessions().len()), (1, 0));
    fixture.bosun(["gc"]).run().expect(0);
    assert_eq!(folders(), 1, "it may just be starting");
    let gone = fixture.bosun(["gc", "--days", "0"]).run().expect(0);
    assert!(gone.stdout.ends_with("never started\n"), "{}", gone.stdout);
    assert_eq!(folders(), 0);
}

#[test]
fn a_damaged_session_can_be_removed_by_its_whole_id_even_without_an_index() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("doomed").run().expect(0);
    let id = fixture.newest();
    fs::write(fixture.session_db(&id), "not a database at all, but long enough to look at").unwrap();
    fs::remove_file(fixture.home().join("bosun.db")).unwrap();
    fixture.bosun(["sessions", "rm", &id]).run().expect(0);
    assert!(!fixture.session_dir(&id).exists());
}

#[test]
fn session_without_files_is_forgotten() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("gone").run().expect(0);
    fs::remove_dir_all(fixture.session_dir(&fixture.newest())).unwrap();
    let gone = fixture.bosun(["gc", "--days", "0"]).run();
    assert!(!gone.stderr.contains("panicked"), "{}", gone.stderr);
    assert!(fixture.sessions().is_empty(), "a session without a file is forgotten");
}

#[test]
fn scripts_are_checked_before_they_are_used() {
    let fixture = fixture();
    fs::write(fixture.path("good.yaml"), HELLO).unwrap();
    fs::write(fixture.path("bad.yaml"), "version: 1\nrules:\n  - when: { prompt: \"fix (\" }\n    answer: []\n")
        .unwrap();
    let good = fixture.bosun(["script", "check", "good.yaml"]).run().expect(0);
    assert_eq!(good.stdout, "good.yaml: ok\n");
    let mixed = fixture.bosun(["script", "check", "good.yaml", "bad.yaml", "none.yaml"]).run().expect(2);
    assert_eq!(mixed.stdout, "good.yaml: ok\n");
    assert_snapshot!(normalized(&fixture, &mixed.stderr), @r"
    error: bad.yaml:3:21: `fix (` is not a usable regular expression: unclosed group
    error: cannot read the script none.yaml: No such file or directory (os error 2)
    ");
    fixture.bosun(["script", "check"]).run().expect(2);
}

#[test]
fn printed_script_schema_matches_the_repository() {
    let printed: Value = fixture().bosun(["script", "schema"]).run().expect(0).json();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/script.schema.json");
    assert_eq!(printed, serde_json::from_str::<Value>(&fs::read_to_string(kept).unwrap()).unwrap());
}
