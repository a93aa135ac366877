//! A fleet of isolated workers whose owner is killed, at work and while it merges: whoever goes on makes the same tree.

use std::fs;
use std::path::Path;
use std::process::Command;

use protocol::Event;
use testkit::binary::BinaryFixture;

use super::planned;

/// Two who work apart, one who builds on both, one whose work does not fit, and one on top of everything.
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

/// Everybody works until a command has said that it is done: one that a kill cut off says nothing. None uses a file of
/// its own meanwhile, as `sed -i` does, that a kill would leave in the work.
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

#[expect(clippy::disallowed_methods, reason = "a repository to work in is made beside the binary")]
fn git(folder: &Path, args: &[&str]) -> String {
    let done = Command::new("git").current_dir(folder).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A repository with the plan in it.
fn repository() -> BinaryFixture {
    let stage = planned(PLAN, SCRIPT);
    begin_repository(&stage);
    stage
}

fn begin_repository(stage: &BinaryFixture) {
    fs::write(stage.path("shared.txt"), "first\nmiddle\nlast\n").unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "someone"],
        &["config", "user.email", "someone@example.invalid"],
        &["add", "-A"],
        &["commit", "-q", "-m", "first"],
    ] {
        git(&stage.folder(), args);
    }
}

const BEGIN: [&str; 6] = ["fleet", "run", "plan.yaml", "--allow-all", "--quiet", "--merge"];
const RESUME: [&str; 4] = ["fleet", "resume", "--allow-all", "--quiet"];

/// The tree that the user's branch has in the end. Nobody did anything twice, and nothing is left lying around.
#[track_caller]
fn tree(stage: &BinaryFixture, fault: &str) -> String {
    let json = stage.bosun(["fleet", "status", "--json"]).run().expect(0).json();
    assert_eq!(json["end"], "done", "{fault}: {json}");
    let log = stage.log(&stage.newest());
    let count = |is: &dyn Fn(&Event) -> bool| log.iter().filter(|envelope| is(&envelope.entry.event)).count();
    assert_eq!(count(&|event| matches!(event, Event::TodoDone { .. })), 5, "{fault}: everything is done once");
    assert_eq!(count(&|event| matches!(event, Event::WorkMerged { .. })), 5, "{fault}: and merged once");
    assert_eq!(git(&stage.folder(), &["status", "--porcelain"]), "", "{fault}");
    assert_eq!(git(&stage.folder(), &["symbolic-ref", "HEAD"]), "refs/heads/main", "{fault}");
    git(&stage.folder(), &["fsck", "--connectivity-only", "--no-dangling"]);
    git(&stage.folder(), &["rev-parse", "HEAD^{tree}"])
}

/// The tree of a fleet that nobody disturbs.
fn undisturbed() -> String {
    let stage = repository();
    stage.bosun(BEGIN).run().expect(0);
    assert_eq!(fs::read_to_string(stage.path("shared.txt")).unwrap(), "first\na and d\nlast\n");
    assert_eq!(fs::read_to_string(stage.path("c.txt")).unwrap(), "first\na\nlast\nb\n");
    assert_eq!(fs::read_to_string(stage.path("e.txt")).unwrap(), "first\na and d\nlast\nfirst\na\nlast\nb\n");
    tree(&stage, "undisturbed")
}

/// A fleet whose owners die one after the other, each as it is told; the last one lives.
#[track_caller]
fn check(faults: &[&str], wanted: &str) {
    let stage = repository();
    let head = git(&stage.folder(), &["rev-parse", "HEAD"]);
    for (n, fault) in faults.iter().enumerate() {
        let typed = if n == 0 { &BEGIN[..] } else { &RESUME[..] };
        stage.bosun(typed).env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
    }
    if !faults.iter().any(|fault| fault.contains("fleetEnded")) {
        assert_eq!(git(&stage.folder(), &["rev-parse", "HEAD"]), head, "{faults:?}: the branch moves at the end");
    }
    stage.bosun(RESUME).run().expect(0);
    assert_eq!(tree(&stage, &format!("{faults:?}")), wanted, "{faults:?}");
}

#[test]
fn an_owner_killed_while_workers_work_leaves_the_same_merged_tree() {
    let wanted = undisturbed();
    for fault in [
        "before-commit:todoClaimed:1",
        "after-commit:workCheckedOut:2",
        "after-commit:callStarted:1",
        "before-commit:workSealed:1",
        "after-commit:workSealed:2",
        "before-commit:todoDone:3",
    ] {
        check(&[fault], &wanted);
    }
}

#[test]
fn an_owner_killed_at_any_merge_leaves_the_same_merged_tree() {
    let wanted = undisturbed();
    for nth in 1..=5 {
        for side in ["before", "after"] {
            check(&[&format!("{side}-commit:workMerged:{nth}")], &wanted);
        }
    }
}

#[test]
fn owners_killed_one_after_the_other_leave_the_same_merged_tree() {
    let wanted = undisturbed();
    let one_merge = "after-commit:workMerged:1";
    let (none, ended) = ("before-commit:workMerged:1", "before-commit:fleetEnded:1");
    check(&["after-commit:todoDone:2", "before-commit:workSealed:1", "after-commit:todoDone:1", ended], &wanted);
    check(&[one_merge, one_merge, none, none, one_merge, one_merge, one_merge, ended], &wanted);
}

/// A24: what was merged needs no refs of ours, and what was not is kept until somebody lets go of it.
#[test]
fn uncommitted_files_are_named_and_gc_lets_go_of_refs_that_a_branch_holds() {
    let plan = "isolation: worktree\ntodos:\n  - { id: a, title: Make a file }\n";
    let script = "
  - when: { turn: 1 }
    answer: [call: { tool: shell, input: { command: 'echo b > b.txt' } }]
  - answer: [say: done]
";
    let stage = planned(plan, script);
    begin_repository(&stage);
    fs::write(stage.path("shared.txt"), "edited\n").unwrap();
    let refs = || git(&stage.folder(), &["for-each-ref", "refs/bosun/"]);
    let run = ["fleet", "run", "plan.yaml", "--allow-all"];
    stage.bosun(run).run().expect(0).says(&["1 uncommitted file: shared.txt", "--include-dirty"]);
    assert_ne!(refs(), "");
    let (id, branch) =
        (stage.newest(), git(&stage.folder(), &["branch", "--format=%(refname:short)", "--list", "bosun/*"]));
    // Nothing holds it but the refs, until the session is gone and somebody says so.
    git(&stage.folder(), &["branch", "-q", "-m", &branch, "kept"]);
    git(&stage.folder(), &["update-ref", "refs/other/kept", "kept"]);
    git(&stage.folder(), &["branch", "-q", "-D", "kept"]);
    stage.bosun(["gc"]).run().expect(0);
    assert_ne!(refs(), "", "the work is on no branch");
    git(&stage.folder(), &["branch", "mine", "refs/other/kept"]);
    stage.bosun(["gc"]).run().expect(0).says(&["in repositories removed"]);
    assert_eq!(refs(), "", "a branch holds all of it");
    git(&stage.folder(), &["update-ref", &format!("refs/bosun/{id}/work/x"), "mine"]);
    git(&stage.folder(), &["branch", "-q", "-D", "mine"]);
    stage.bosun(["sessions", "rm", &id]).run().expect(0);
    stage.bosun(["gc"]).run().expect(0).says(&["1 ref of removed sessions kept", "--unlanded"]);
    assert_ne!(refs(), "");
    stage.bosun(["gc", "--unlanded"]).run().expect(0);
    assert_eq!(refs(), "");
}

/// A20: what two workers will make of one file may not fit together, and that is told before they begin.
#[test]
fn fleet_check_tells_which_todos_may_conflict() {
    let todo = |id: &str, on: &str| format!("  - {{ id: {id}, title: T, files: [src/x.rs], depends_on: [{on}] }}\n");
    let stage =
        planned(&format!("todos:\n{}{}{}", todo("a", ""), todo("b", ""), todo("c", "a, b")), "  - answer: [say: x]");
    let words = "may conflict: a and b both name src/x.rs, and neither waits for the other";
    let told = stage.bosun(["fleet", "check", "plan.yaml"]).run().expect(0).stdout;
    assert!(told.lines().any(|line| line == words), "{told}");
    let json = stage.bosun(["fleet", "check", "plan.yaml", "--json"]).run().expect(0).json();
    assert_eq!(json["conflicts"], serde_json::json!([{ "todos": ["a", "b"], "files": ["src/x.rs"] }]));
}
