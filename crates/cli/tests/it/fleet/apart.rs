//! Fleets with isolated workers.

use std::fs;
use std::process::Command;

use testkit::binary::BinaryFixture;

use super::fixture_with_plan;

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

#[expect(clippy::disallowed_methods, reason = "the repository is created outside of Bosun")]
fn git(fixture: &BinaryFixture, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(fixture.folder()).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn repository(fixture: &BinaryFixture) {
    git(fixture, &["init", "-q", "-b", "main"]);
    git(fixture, &["config", "user.name", "T"]);
    git(fixture, &["config", "user.email", "t@example.com"]);
    fs::write(fixture.path(".git/info/exclude"), "home\n").unwrap();
    git(fixture, &["add", "."]);
    git(fixture, &["commit", "-qm", "first"]);
}

#[test]
fn branch_moves_only_with_merge() {
    let fixture = fixture_with_plan(PLAN, SCRIPT);
    repository(&fixture);
    let ended = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(0);
    assert!(ended.stdout.contains("git merge bosun/fleet-"), "{}", ended.stdout);
    assert!(!fixture.path("one.txt").exists());
    let merge = ["fleet", "run", "plan.yaml", "--allow-all", "--fresh", "--merge"];
    fixture.bosun(merge).run().expect(0);
    assert_eq!(fs::read_to_string(fixture.path("two.txt")).unwrap(), "two");
    assert_eq!(git(&fixture, &["status", "--short"]), "");
}

#[test]
fn unmoved_branch_is_a_partial_result() {
    let fixture = fixture_with_plan(PLAN, SCRIPT);
    repository(&fixture);
    let plan = format!("{PLAN}# not committed\n");
    fs::write(fixture.path("plan.yaml"), plan).unwrap();
    let json = ["fleet", "run", "plan.yaml", "--allow-all", "--merge", "--output-format", "json"];
    let output = fixture.bosun(json).run().expect(3).json();
    assert_eq!((&output["outcome"], &output["exitCode"]), (&"done".into(), &3.into()), "{output}");
    assert!(output["fleet"]["merged"]["destination"]["kept"].as_str().unwrap().contains("plan.yaml"), "{output}");
}

#[test]
fn isolation_needs_a_repository() {
    let fixture = fixture_with_plan(PLAN, "  - fail: { class: terminal }\n");
    let alone = ["fleet", "think it over", "--isolation", "worktree"];
    fixture.bosun(alone).run().expect(2).says(&["is not in a git repository", "git init"]);
    git(&fixture, &["init", "-q"]);
    fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).run().expect(2).says(&["commit"]);
    for flag in ["--merge", "--include-dirty", "--check=true"] {
        let shared = ["fleet", "think it over", flag];
        fixture.bosun(shared).run().expect(2).says(&["their own checkouts", "--isolation worktree"]);
    }
}
