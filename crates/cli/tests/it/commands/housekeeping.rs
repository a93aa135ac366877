//! Removing what is old, and checking scripts.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::shown;
use crate::scripts::{HELLO, turns};
use crate::stage;

/// That there were no checkouts to look after.
fn unused() -> Value {
    json!({ "removed": 0, "trashed": 0, "emptied": 0, "bytes": 0 })
}

/// That there were no refs of sessions in a repository.
fn no_refs() -> Value {
    json!({ "removed": 0, "unlanded": 0, "landings": 0 })
}

#[test]
fn old_sessions_are_removed_and_those_with_work_in_them_stay() {
    let stage = stage();
    stage.script(HELLO).prompt("old").run().expect(0);
    let old = stage.newest();
    stage.script(&turns(5));
    stage.prompt("at work").env("BOSUN_FAULT", "after-commit:12").discard_output().run().expect_killed();
    let young = stage.bosun(["gc"]).run().expect(0);
    assert_eq!((&*young.stdout, &*young.stderr), ("", "0 removed, 2 kept\n"));
    let dry = stage.bosun(["gc", "--days", "0", "--dry-run"]).run().expect(0);
    assert!(dry.stdout.starts_with(&old) && dry.stdout.ends_with("old\n"), "{}", dry.stdout);
    assert_eq!(dry.stderr, "1 would be removed, 1 kept\n");
    let none = json!({ "removed": 0, "bytes": 0 });
    let dry = stage.bosun(["gc", "--days", "0", "--dry-run", "--json"]).run().expect(0).json();
    assert_eq!(
        dry,
        json!({ "removed": [old], "kept": 1, "failed": [], "outputs": none, "results": 0, "checkouts": unused(),
            "refs": no_refs(), "dryRun": true })
    );
    assert_eq!(stage.sessions().len(), 2);
    let gone = stage.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(
        gone,
        json!({ "removed": [old], "kept": 1, "failed": [], "outputs": none, "results": 0, "checkouts": unused(),
            "refs": no_refs(), "dryRun": false })
    );
    assert_eq!(stage.sessions().len(), 1);
    assert!(!stage.session_dir(&old).exists());
    assert_eq!(stage.bosun(["--continue"]).run().expect(0).stdout, "Done.\n");
}

#[test]
fn a_session_that_went_on_after_the_index_last_heard_of_it_is_kept() {
    let stage = stage();
    stage.script(HELLO).prompt("old").run().expect(0);
    stage
        .bosun(["--continue", "-p", "more"])
        .env("BOSUN_FAULT", "after-commit:11")
        .discard_output()
        .run()
        .expect_killed();
    let none = json!({ "removed": 0, "bytes": 0 });
    let kept = stage.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    let rest = json!({ "removed": [], "kept": 1, "failed": [], "outputs": none, "results": 0, "checkouts": unused(),
            "refs": no_refs(), "dryRun": false });
    assert_eq!(kept, rest);
    assert_eq!(stage.bosun(["--continue"]).run().expect(0).stdout, "Hello.\n");
}

#[test]
fn what_never_began_is_removed_too() {
    let stage = stage();
    stage
        .script(HELLO)
        .prompt("stillborn")
        .env("BOSUN_FAULT", "before-commit:1")
        .discard_output()
        .run()
        .expect_killed();
    let folders = || fs::read_dir(stage.home().join("sessions")).unwrap().count();
    assert_eq!((folders(), stage.sessions().len()), (1, 0));
    stage.bosun(["gc"]).run().expect(0);
    assert_eq!(folders(), 1, "somebody may just be beginning it");
    let gone = stage.bosun(["gc", "--days", "0"]).run().expect(0);
    assert!(gone.stdout.ends_with("never started\n"), "{}", gone.stdout);
    assert_eq!(folders(), 0);
}

#[test]
fn a_damaged_session_can_be_removed_by_its_whole_id_even_without_an_index() {
    let stage = stage();
    stage.script(HELLO).prompt("doomed").run().expect(0);
    let id = stage.newest();
    fs::write(stage.session_db(&id), "not a database at all, but long enough to look at").unwrap();
    fs::remove_file(stage.home().join("bosun.db")).unwrap();
    stage.bosun(["sessions", "rm", &id]).run().expect(0);
    assert!(!stage.session_dir(&id).exists());
}

#[test]
fn a_session_that_cannot_be_removed_is_told() {
    let stage = stage();
    stage.script(HELLO).prompt("gone").run().expect(0);
    fs::remove_dir_all(stage.session_dir(&stage.newest())).unwrap();
    let gone = stage.bosun(["gc", "--days", "0"]).run();
    assert!(!gone.stderr.contains("panicked"), "{}", gone.stderr);
    assert!(stage.sessions().is_empty(), "a session without a file is forgotten");
}

#[test]
fn scripts_are_checked_before_they_are_used() {
    let stage = stage();
    fs::write(stage.path("good.yaml"), HELLO).unwrap();
    fs::write(stage.path("bad.yaml"), "version: 1\nrules:\n  - when: { prompt: \"fix (\" }\n    answer: []\n").unwrap();
    let good = stage.bosun(["script", "check", "good.yaml"]).run().expect(0);
    assert_eq!(good.stdout, "good.yaml: ok\n");
    let mixed = stage.bosun(["script", "check", "good.yaml", "bad.yaml", "none.yaml"]).run().expect(2);
    assert_eq!(mixed.stdout, "good.yaml: ok\n");
    assert_snapshot!(shown(&stage, &mixed.stderr), @r"
    error: bad.yaml:3:21: `fix (` is not a usable regular expression: unclosed group
    error: cannot read the script none.yaml: No such file or directory (os error 2)
    ");
    stage.bosun(["script", "check"]).run().expect(2);
}

#[test]
fn the_schema_of_scripts_is_the_one_in_the_repository() {
    let printed: Value = stage().bosun(["script", "schema"]).run().expect(0).json();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/script.schema.json");
    assert_eq!(printed, serde_json::from_str::<Value>(&fs::read_to_string(kept).unwrap()).unwrap());
}
