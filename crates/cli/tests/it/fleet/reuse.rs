//! Work that lies in commits of an earlier run is used again, also by an owner that comes after a kill.

use std::fs;
use std::path::Path;

use protocol::Event;
use testkit::binary::{BinaryExit, BinaryFixture};

use super::planned;

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

fn plan(words: &str) -> String {
    format!(
        "isolation: worktree
todos:
  - {{ id: a, title: A }}
  - {{ id: b, title: B, description: {words} }}
  - {{ id: c, title: C, depends_on: [a] }}
  - {{ id: d, title: D, depends_on: [b] }}
"
    )
}

#[expect(clippy::disallowed_methods, reason = "a repository to work in is made beside the command")]
fn git(folder: &Path, args: &[&str]) -> String {
    let done = std::process::Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A repository in which a plan was worked through once, without a merge; then one todo of it is edited.
fn edited() -> BinaryFixture {
    let stage = planned(&plan("some words"), SCRIPT);
    let folder = stage.folder();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "someone"],
        &["config", "user.email", "someone@example.invalid"],
        &["commit", "-q", "--allow-empty", "-m", "first"],
    ] {
        git(&folder, args);
    }
    let first = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    tells(&first.says(&["merged d (D)"]), "The result is the branch bosun/fleet-");
    assert!(!stage.path("a.txt").exists());
    fs::write(stage.path("plan.yaml"), plan("other words")).unwrap();
    stage
}

fn tells(ended: &BinaryExit, words: &str) {
    assert!(ended.stdout.contains(words), "{ended:?}");
}

/// The todos that workers were started for.
fn claimed(stage: &BinaryFixture) -> Vec<String> {
    let claimed = |event| match event {
        Event::TodoClaimed { todo, .. } => Some(todo.0),
        _other => None,
    };
    stage.log(&stage.newest()).into_iter().filter_map(|envelope| claimed(envelope.entry.event)).collect()
}

fn has_everything(stage: &BinaryFixture) {
    let files = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| fs::read_to_string(stage.path(name)).unwrap());
    assert_eq!(files, ["a\n", "other\n", "a\n", "other\n"]);
    assert_eq!(claimed(stage), ["b", "d"]);
    assert_eq!(git(&stage.folder(), &["status", "--porcelain", "--untracked-files=no"]), "");
}

#[test]
fn only_what_was_edited_is_done_again_and_the_merged_tree_has_everything() {
    let stage = edited();
    let again = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--merge"]).run().expect(0);
    tells(&again.says(&["reused a", "reused c", "again: definition changed", "done d"]), "main has moved");
    has_everything(&stage);
    let third = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--merge"]).run().expect(0);
    third.says(&["reused a", "reused b", "reused c", "reused d"]);
    assert!(claimed(&stage).is_empty());
}

#[test]
fn what_is_used_again_is_not_lost_with_its_owner() {
    for fault in ["after-commit:todoDone:1", "after-commit:todoDone:2", "before-commit:workMerged:2"] {
        let stage = edited();
        let run = ["fleet", "run", "plan.yaml", "--allow-all", "--merge"];
        stage.bosun(run).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
        tells(&stage.bosun(["fleet", "resume", "--allow-all"]).run().expect(0), "main has moved");
        has_everything(&stage);
    }
}

/// As git commands do that are killed together with the guardian, or with the machine.
fn lock_every_ref(folder: &Path) {
    let locked = git(folder, &["for-each-ref", "--format=%(refname)", "refs/bosun"]);
    assert!(!locked.is_empty());
    for name in locked.lines() {
        fs::write(folder.join(format!(".git/{name}.lock")), "").unwrap();
    }
}

#[test]
fn refs_that_a_killed_git_command_left_locked_do_not_stop_the_next_owner() {
    let stage = edited();
    let run = ["fleet", "run", "plan.yaml", "--allow-all", "--merge"];
    stage.bosun(run).env("BOSUN_FAULT", "before-commit:workMerged:2").discard_output().run().expect_killed();
    lock_every_ref(&stage.folder());
    tells(&stage.bosun(["fleet", "resume", "--allow-all"]).run().expect(0), "main has moved");
    has_everything(&stage);
}

#[test]
fn work_in_commits_is_not_used_by_workers_that_share_the_folder() {
    let stage = edited();
    let again = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all", "--isolation", "none"]).run().expect(0);
    again.says(&["again: the commit with its work is no longer usable"]);
    assert_eq!(claimed(&stage).len(), 4);
    assert_eq!(fs::read_to_string(stage.path("c.txt")).unwrap(), "a\n");
}

#[test]
fn work_that_did_not_land_is_not_taken_to_be_in_place() {
    let stage = edited();
    let run = ["fleet", "run", "plan.yaml", "--allow-all", "--merge"];
    fs::copy(stage.path(".git/refs/heads/main"), stage.path(".git/MERGE_HEAD")).unwrap();
    tells(&stage.bosun(run).run().expect(3), "Your branch was not moved: a merge is in progress");
    assert!(!stage.path("a.txt").exists());
    fs::remove_file(stage.path(".git/MERGE_HEAD")).unwrap();
    tells(&stage.bosun(run).run().expect(0).says(&["reused b", "reused d"]), "main has moved");
    assert!(claimed(&stage).is_empty());
    assert_eq!(fs::read_to_string(stage.path("d.txt")).unwrap(), "other\n");
}

#[test]
fn todos_whose_fleet_never_began_are_not_taken_for_one() {
    let stage = planned("todos: [{ id: one, title: The first }]\n", "  - answer: [say: done]\n");
    let run = ["fleet", "run", "plan.yaml", "--allow-all"];
    let fault = "before-commit:fleetBegan:1";
    stage.bosun(run).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    stage.bosun(["fleet", "resume"]).run().expect(2).says(&["there is no fleet in", "starts one"]);
    stage.bosun(run).run().expect(0);
    stage.bosun(run).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    assert!(stage.bosun(["fleet", "status"]).run().expect(0).stdout.contains("all todos are done"));
}
