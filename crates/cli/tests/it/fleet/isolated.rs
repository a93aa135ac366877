//! A fleet of isolated workers whose owner is killed while it works or merges: the next owner produces the same tree.

use std::fs;
use std::path::Path;
use std::process::Command;

use protocol::Event;
use testkit::binary::BinaryFixture;

use super::fixture_with_plan;

/// Two independent todos, one that builds on both, one that conflicts, and one that depends on everything.
const PLAN: &str = "
goal: One tree
isolation: worktree
merge_check: \"! grep -rq '^<<<<<<<' --include=*.txt .\"
todos:
  - { id: a, title: The first }
  - { id: b, title: The second }
  - { id: c, title: Both, depends_on: [a, b] }
  - { id: d, title: What does not fit }
  - { id: e, title: The last, depends_on: [c, d] }
";

/// A worker repeats its command until it prints that it is done: a killed command prints nothing. No command creates a
/// temporary file, as `sed -i` does, that a kill would leave in the work.
const SCRIPT: &str = "
  - when: { answered: { tool: shell, matches: made-it } }
    answer: [say: done]
  - when: { path: \"/root/a.*\" }
    answer: [call: { tool: shell, input: { command: 'printf \"first\\na\\nlast\\n\" > shared.txt; echo made-it' } }]
  - when: { path: \"/root/b.*\" }
    answer: [call: { tool: shell, input: { command: 'echo b > b.txt; echo made-it' } }]
  - when: { path: \"/root/c.*\" }
    answer: [call: { tool: shell, input: { command: 'cat shared.txt b.txt > c.txt; echo made-it' } }]
  - when: { path: \"/root/d.*\" }
    answer: [call: { tool: shell, input: { command: 'printf \"first\\nd\\nlast\\n\" > shared.txt; echo made-it' } }]
  - when: { path: \"/root/e.*\" }
    answer: [call: { tool: shell, input: { command: 'cat shared.txt c.txt > e.txt; echo made-it' } }]
  - when: { path: \"/root/merge-.*\" }
    answer: [call: { tool: shell, input: { command: 'printf \"first\\na and d\\nlast\\n\" > shared.txt; echo made-it' } }]
  - answer: [say: done]
";

#[expect(clippy::disallowed_methods, reason = "the repository is created outside of Bosun")]
fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with the plan in it.
fn repository() -> BinaryFixture {
    let fixture = fixture_with_plan(PLAN, SCRIPT);
    begin_repository(&fixture);
    fixture
}

fn begin_repository(fixture: &BinaryFixture) {
    fs::write(fixture.path("shared.txt"), "first\nmiddle\nlast\n").unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "someone"],
        &["config", "user.email", "someone@example.invalid"],
        &["add", "-A"],
        &["commit", "-q", "-m", "first"],
    ] {
        git(&fixture.folder(), args);
    }
}

const BEGIN: [&str; 6] = ["fleet", "run", "plan.yaml", "--allow-all", "--quiet", "--merge"];
const RESUME: [&str; 4] = ["fleet", "resume", "--allow-all", "--quiet"];

/// The final tree of the user's branch. Checks that nothing was done twice and nothing is left over.
#[track_caller]
fn tree(fixture: &BinaryFixture, fault: &str) -> String {
    let json = fixture.bosun(["fleet", "status", "--json"]).run().expect(0).json();
    assert_eq!(json["end"], "done", "{fault}: {json}");
    let log = fixture.log(&fixture.newest());
    let count = |is: &dyn Fn(&Event) -> bool| log.iter().filter(|envelope| is(&envelope.entry.event)).count();
    assert_eq!(count(&|event| matches!(event, Event::TodoDone { .. })), 5, "{fault}: every todo is done once");
    assert_eq!(count(&|event| matches!(event, Event::WorkMerged { .. })), 5, "{fault}: and merged once");
    assert_eq!(git(&fixture.folder(), &["status", "--porcelain"]), "", "{fault}");
    assert_eq!(git(&fixture.folder(), &["symbolic-ref", "HEAD"]), "refs/heads/main", "{fault}");
    git(&fixture.folder(), &["fsck", "--connectivity-only", "--no-dangling"]);
    git(&fixture.folder(), &["rev-parse", "HEAD^{tree}"])
}

/// The tree of a fleet that is not killed.
fn undisturbed() -> String {
    let fixture = repository();
    fixture.bosun(BEGIN).run().expect(0);
    assert_eq!(fs::read_to_string(fixture.path("shared.txt")).unwrap(), "first\na and d\nlast\n");
    assert_eq!(fs::read_to_string(fixture.path("c.txt")).unwrap(), "first\na\nlast\nb\n");
    assert_eq!(fs::read_to_string(fixture.path("e.txt")).unwrap(), "first\na and d\nlast\nfirst\na\nlast\nb\n");
    tree(&fixture, "undisturbed")
}

/// Runs a fleet whose owners are killed one after the other by these faults; the last one survives.
#[track_caller]
fn check(faults: &[&str], expected_tree: &str) {
    let fixture = repository();
    let head = git(&fixture.folder(), &["rev-parse", "HEAD"]);
    for (n, fault) in faults.iter().enumerate() {
        let command = if n == 0 { &BEGIN[..] } else { &RESUME[..] };
        fixture.bosun(command).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    }
    if !faults.iter().any(|fault| fault.contains("fleetEnded")) {
        assert_eq!(git(&fixture.folder(), &["rev-parse", "HEAD"]), head, "{faults:?}: the branch moves at the end");
    }
    fixture.bosun(RESUME).run().expect(0);
    assert_eq!(tree(&fixture, &format!("{faults:?}")), expected_tree, "{faults:?}");
}

#[test]
fn an_owner_killed_while_workers_work_leaves_the_same_merged_tree() {
    let expected_tree = undisturbed();
    for fault in [
        "before-commit:todoClaimed:1",
        "after-commit:workCheckedOut:2",
        "after-commit:callStarted:1",
        "before-commit:workSealed:1",
        "after-commit:workSealed:2",
        "before-commit:todoDone:3",
    ] {
        check(&[fault], &expected_tree);
    }
}

#[test]
fn an_owner_killed_at_any_merge_leaves_the_same_merged_tree() {
    let expected_tree = undisturbed();
    for nth in 1..=5 {
        for side in ["before", "after"] {
            check(&[&format!("{side}-commit:workMerged:{nth}")], &expected_tree);
        }
    }
}

#[test]
fn owners_killed_in_sequence_leave_the_same_merged_tree() {
    let expected_tree = undisturbed();
    let one_merge = "after-commit:workMerged:1";
    let (none, ended) = ("before-commit:workMerged:1", "before-commit:fleetEnded:1");
    check(&["after-commit:todoDone:2", "before-commit:workSealed:1", "after-commit:todoDone:1", ended], &expected_tree);
    check(&[one_merge, one_merge, none, none, one_merge, one_merge, one_merge, ended], &expected_tree);
}

/// Merged work needs no refs of Bosun; other work is kept until the user removes it.
#[test]
fn uncommitted_files_are_named_and_gc_removes_landed_refs() {
    let plan = "isolation: worktree\ntodos:\n  - { id: a, title: Make a file }\n";
    let script = "
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { command: 'echo b > b.txt' } }]
  - answer: [say: done]
";
    let fixture = fixture_with_plan(plan, script);
    begin_repository(&fixture);
    fs::write(fixture.path("shared.txt"), "edited\n").unwrap();
    let refs = || git(&fixture.folder(), &["for-each-ref", "refs/bosun/"]);
    let run = ["fleet", "run", "plan.yaml", "--allow-all"];
    fixture.bosun(run).run().expect(0).says(&["1 uncommitted file: shared.txt", "--include-dirty"]);
    assert_ne!(refs(), "");
    let (id, branch) =
        (fixture.newest(), git(&fixture.folder(), &["branch", "--format=%(refname:short)", "--list", "bosun/*"]));
    // Only the refs hold the work, until the session is removed and the user asks for it.
    git(&fixture.folder(), &["branch", "-q", "-m", &branch, "kept"]);
    git(&fixture.folder(), &["update-ref", "refs/other/kept", "kept"]);
    git(&fixture.folder(), &["branch", "-q", "-D", "kept"]);
    fixture.bosun(["gc"]).run().expect(0);
    assert_ne!(refs(), "", "the work is on no branch");
    git(&fixture.folder(), &["branch", "mine", "refs/other/kept"]);
    fixture.bosun(["gc"]).run().expect(0).says(&["in repositories removed"]);
    assert_eq!(refs(), "", "a branch holds all of it");
    git(&fixture.folder(), &["update-ref", &format!("refs/bosun/{id}/work/x"), "mine"]);
    git(&fixture.folder(), &["branch", "-q", "-D", "mine"]);
    fixture.bosun(["sessions", "rm", &id]).run().expect(0);
    fixture.bosun(["gc"]).run().expect(0).says(&["1 ref of removed sessions kept", "--unlanded"]);
    assert_ne!(refs(), "");
    fixture.bosun(["gc", "--unlanded"]).run().expect(0);
    assert_eq!(refs(), "");
}

/// Possible conflicts between workers are reported before they start.
#[test]
fn fleet_check_reports_possible_conflicts() {
    let todo = |id: &str, on: &str| format!("  - {{ id: {id}, title: T, files: [src/x.rs], depends_on: [{on}] }}\n");
    let fixture = fixture_with_plan(
        &format!("todos:\n{}{}{}", todo("a", ""), todo("b", ""), todo("c", "a, b")),
        "  - answer: [say: x]",
    );
    let expected = "may conflict: a and b both name src/x.rs, and neither waits for the other";
    let output = fixture.bosun(["fleet", "check", "plan.yaml"]).run().expect(0).stdout;
    assert!(output.lines().any(|line| line == expected), "{output}");
    let json = fixture.bosun(["fleet", "check", "plan.yaml", "--json"]).run().expect(0).json();
    assert_eq!(json["conflicts"], serde_json::json!([{ "todos": ["a", "b"], "files": ["src/x.rs"] }]));
}
