//! Work in commits of an earlier run is reused, also by the owner after a kill.

use std::fs;
use std::path::Path;

use protocol::Event;
use testkit::binary::{BinaryExit, BinaryFixture};

use super::fixture_with_plan;

const SCRIPT: &str = "
  - when: { path: /root/b, turn: 1, prompt: other words }
    answer: [call: { tool: shell, input: { description: x, command: 'echo other > b.txt' } }]
  - when: { path: /root/d, turn: 1 }
    answer: [call: { tool: shell, input: { description: x, command: 'cat b.txt > d.txt' } }]
  - when: { path: /root/c, turn: 1 }
    answer: [call: { tool: shell, input: { description: x, command: 'cat a.txt > c.txt' } }]
  - when: { path: /root/b, turn: 1 }
    answer: [call: { tool: shell, input: { description: x, command: 'echo b > b.txt' } }]
  - when: { path: /root/a, turn: 1 }
    answer: [call: { tool: shell, input: { description: x, command: 'echo a > a.txt' } }]
  - answer: [say: \"${path} is done\"]
";

fn plan(description: &str) -> String {
    format!(
        "isolation: worktree
todos:
  - {{ id: a, title: A }}
  - {{ id: b, title: B, description: {description} }}
  - {{ id: c, title: C, depends_on: [a] }}
  - {{ id: d, title: D, depends_on: [b] }}
"
    )
}

#[expect(clippy::disallowed_methods, reason = "the repository is created outside of Bosun")]
fn git(folder: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository in which a plan was completed once without a merge, and then one of its todos was edited.
fn edited_fixture() -> BinaryFixture {
    let fixture = fixture_with_plan(&plan("some words"), SCRIPT);
    let folder = fixture.folder();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "someone"],
        &["config", "user.email", "someone@example.invalid"],
        &["commit", "-q", "--allow-empty", "-m", "first"],
    ] {
        git(&folder, args);
    }
    let first = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    assert_prints(&first.says(&["merged d (D)"]), "The result is the branch bosun/fleet-");
    assert!(!fixture.path("a.txt").exists());
    fs::write(fixture.path("plan.yaml"), plan("other words")).unwrap();
    fixture
}

fn assert_prints(ended: &BinaryExit, expected: &str) {
    assert!(ended.stdout.contains(expected), "{ended:?}");
}

/// The todos that workers were started for.
fn claimed(fixture: &BinaryFixture) -> Vec<String> {
    let claimed = |event| match event {
        Event::TodoClaimed { todo, .. } => Some(todo.0),
        _other => None,
    };
    fixture.log(&fixture.newest()).into_iter().filter_map(|envelope| claimed(envelope.entry.event)).collect()
}

fn assert_complete(fixture: &BinaryFixture) {
    let files = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| fs::read_to_string(fixture.path(name)).unwrap());
    assert_eq!(files, ["a\n", "other\n", "a\n", "other\n"]);
    assert_eq!(claimed(fixture), ["b", "d"]);
    assert_eq!(git(&fixture.folder(), &["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn only_edited_todos_are_redone_and_the_merge_is_complete() {
    let fixture = edited_fixture();
    let again = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--merge"]).run().expect(0);
    assert_prints(&again.says(&["reused a", "reused c", "again: definition changed", "done d"]), "main has moved");
    assert_complete(&fixture);
    let third = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--merge"]).run().expect(0);
    let third = third.says(&["reused a", "reused b", "reused c", "reused d"]);
    assert!(third.stdout.trim_end().ends_with("4 todos: 4 reused"), "no merge is reported: {}", third.stdout);
    assert!(claimed(&fixture).is_empty());
}

#[test]
fn reused_work_survives_a_kill() {
    for fault in ["after-commit:todoDone:1", "after-commit:todoDone:2", "before-commit:workMerged:2"] {
        let fixture = edited_fixture();
        let run = ["fleet", "run", "plan.yaml", "--allow-all", "--merge"];
        fixture.bosun(run).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
        assert_prints(&fixture.bosun(["fleet", "resume", "--allow-all"]).run().expect(0), "main has moved");
        assert_complete(&fixture);
    }
}

/// Leaves lock files, as git does when it is killed with the guardian or the machine.
fn lock_every_ref(folder: &Path) {
    let locked = git(folder, &["for-each-ref", "--format=%(refname)", "refs/bosun"]);
    assert!(!locked.is_empty());
    for name in locked.lines() {
        fs::write(folder.join(format!(".git/{name}.lock")), "").unwrap();
    }
}

#[test]
fn refs_locked_by_a_killed_git_do_not_block_the_next_owner() {
    let fixture = edited_fixture();
    let run = ["fleet", "run", "plan.yaml", "--allow-all", "--merge"];
    fixture.bosun(run).env("BOSUN_FAULT", "before-commit:workMerged:2").discard_output().run().expect_killed();
    lock_every_ref(&fixture.folder());
    assert_prints(&fixture.bosun(["fleet", "resume", "--allow-all"]).run().expect(0), "main has moved");
    assert_complete(&fixture);
}

#[test]
fn workers_in_a_shared_folder_do_not_reuse_commits() {
    let fixture = edited_fixture();
    let again = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--isolation", "none"]).run().expect(0);
    again.says(&["again: the commit with its work is no longer usable"]);
    assert_eq!(claimed(&fixture).len(), 4);
    assert_eq!(fs::read_to_string(fixture.path("c.txt")).unwrap(), "a\n");
}

#[test]
fn work_that_did_not_land_is_merged_again() {
    let fixture = edited_fixture();
    let run = ["fleet", "run", "plan.yaml", "--allow-all", "--merge"];
    fs::copy(fixture.path(".git/refs/heads/main"), fixture.path(".git/MERGE_HEAD")).unwrap();
    assert_prints(&fixture.bosun(run).run().expect(3), "Your branch was not moved: a merge is in progress");
    assert!(!fixture.path("a.txt").exists());
    fs::remove_file(fixture.path(".git/MERGE_HEAD")).unwrap();
    assert_prints(&fixture.bosun(run).run().expect(0).says(&["reused b", "reused d"]), "main has moved");
    assert!(claimed(&fixture).is_empty());
    assert_eq!(fs::read_to_string(fixture.path("d.txt")).unwrap(), "other\n");
}

#[test]
fn todos_of_an_unstarted_fleet_are_not_a_fleet() {
    let fixture = fixture_with_plan("todos: [{ id: one, title: The first }]\n", "  - answer: [say: done]\n");
    let run = ["fleet", "run", "plan.yaml", "--allow-all"];
    let fault = "before-commit:fleetBegan:1";
    fixture.bosun(run).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    fixture.bosun(["fleet", "resume"]).run().expect(2).says(&["there is no fleet in", "starts one"]);
    fixture.bosun(run).run().expect(0);
    fixture.bosun(run).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    assert!(fixture.bosun(["fleet", "status"]).run().expect(0).stdout.contains("all todos are done"));
}
