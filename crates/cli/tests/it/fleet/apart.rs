//! Fleets whose workers have checkouts of their own.

use std::fs;
use std::process::Command;

use testkit::binary::BinaryFixture;

use super::planned;

const PLAN: &str = "
isolation: worktree
todos: [{ id: one, title: The first, check: test -e one.txt }, { id: two, title: The second, depends_on: [one] }]
";

const SCRIPT: &str = "
  - when: { path: /root/one, turn: 1 }
    answer: [call: { tool: create, input: { path: one.txt, content: one } }]
  - when: { path: /root/two, turn: 1 }
    answer: [call: { tool: create, input: { path: two.txt, content: two } }]
  - answer: [say: done]
";

#[expect(clippy::disallowed_methods, reason = "a repository to work in is made beside the program")]
fn git(stage: &BinaryFixture, args: &[&str]) -> String {
    let done = Command::new("git").current_dir(stage.folder()).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn repository(stage: &BinaryFixture) {
    git(stage, &["init", "-q", "-b", "main"]);
    git(stage, &["config", "user.name", "T"]);
    git(stage, &["config", "user.email", "t@example.com"]);
    fs::write(stage.path(".git/info/exclude"), "home\n").unwrap();
    git(stage, &["add", "."]);
    git(stage, &["commit", "-qm", "first"]);
}

#[test]
fn a_branch_moves_when_asked_and_nothing_else_does() {
    let stage = planned(PLAN, SCRIPT);
    repository(&stage);
    let ended = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    assert!(ended.stdout.contains("git merge bosun/fleet-"), "{}", ended.stdout);
    assert!(!stage.path("one.txt").exists());
    let merge = ["fleet", "run", "plan.yaml", "--allow-all", "--fresh", "--merge"];
    stage.bosun(merge).run().expect(0);
    assert_eq!(fs::read_to_string(stage.path("two.txt")).unwrap(), "two");
    assert_eq!(git(&stage, &["status", "--short"]), "");
}

#[test]
fn a_branch_that_was_to_move_and_did_not_is_no_success() {
    let stage = planned(PLAN, SCRIPT);
    repository(&stage);
    let plan = format!("{PLAN}# not committed\n");
    fs::write(stage.path("plan.yaml"), plan).unwrap();
    let json = ["fleet", "run", "plan.yaml", "--allow-all", "--merge", "--output-format", "json"];
    let told = stage.bosun(json).run().expect(3).json();
    assert_eq!((&told["outcome"], &told["exitCode"]), (&"done".into(), &3.into()), "{told}");
    assert!(told["merged"]["destination"]["kept"].as_str().unwrap().contains("plan.yaml"), "{told}");
}

#[test]
fn what_needs_a_repository_is_refused_without_one() {
    let stage = planned(PLAN, "  - fail: { class: terminal }\n");
    let alone = ["fleet", "think it over", "--isolation", "worktree"];
    stage.bosun(alone).run().expect(2).says(&["is not in a git repository", "git init"]);
    git(&stage, &["init", "-q"]);
    stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(2).says(&["commit"]);
    for flag in ["--merge", "--include-dirty", "--check=true"] {
        let shared = ["fleet", "think it over", flag];
        stage.bosun(shared).run().expect(2).says(&["their own checkouts", "--isolation worktree"]);
    }
}
