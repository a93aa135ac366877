//! Checkouts of agents, as people find them.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testkit::binary::BinaryFixture;

use crate::{BOSUN, stage};

const MAKER: &str = r#"{"maker": {"description": "x", "prompt": "y", "isolation": "worktree"}}"#;

const MAKES: &str = "
version: 1
rules:
  - when: { agent: maker, turn: 1 }
    answer:
      - call: { tool: create, input: { path: made.txt, content: made } }
  - when: { agent: maker }
    answer: [say: made it]
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: maker, name: first } }
  - answer: [say: '${answer}']
";

#[expect(clippy::disallowed_methods, reason = "a repository to work in is made beside the program")]
fn git(stage: &BinaryFixture, args: &[&str]) -> String {
    let done = Command::new("git").current_dir(stage.folder()).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A stage whose folder is a repository, after an agent has worked in a checkout of it.
fn made() -> BinaryFixture {
    let stage = stage();
    fs::write(stage.path("a.txt"), "one\n").unwrap();
    git(&stage, &["init", "-q", "-b", "main"]);
    git(&stage, &["add", "a.txt"]);
    git(&stage, &["-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-q", "-m", "first"]);
    let told = stage.script(MAKES).prompt("go").args(["--agents", MAKER]).run().expect(0).stdout;
    assert!(told.contains("files changed: made.txt") && told.contains("`git merge refs/bosun/"), "{told}");
    stage
}

fn rows(stage: &BinaryFixture) -> Vec<Value> {
    stage.bosun(["checkouts", "--json"]).run().expect(0).json().as_array().unwrap().clone()
}

#[test]
fn a_checkout_is_listed_put_into_the_trash_and_brought_back() {
    let stage = made();
    let listed = rows(&stage);
    let [row] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((&row["state"], &row["name"]), (&"sealed".into(), &"first".into()));
    let (task, path) = (row["task"].as_str().unwrap(), row["path"].as_str().unwrap());
    assert_eq!(git(&stage, &["show", &format!("{}:made.txt", row["pinned"].as_str().unwrap())]), "made");
    assert!(!stage.path("made.txt").exists());
    assert!(stage.bosun(["checkouts"]).run().expect(0).stdout.contains(task));

    stage.bosun(["checkouts", "rm", "no-such"]).run().expect(2).says(&["no checkout `no-such`"]);
    stage.bosun(["checkouts", "rm", task]).run().expect(0);
    assert!(!fs::exists(path).unwrap());
    assert_eq!(rows(&stage)[0]["state"], "trash");
    assert!(stage.bosun(["doctor"]).run().stdout.contains("1 in the trash"));
    assert_eq!(stage.bosun(["checkouts", "restore", task]).run().expect(0).stdout.trim(), path);
    assert!(fs::exists(format!("{path}/made.txt")).unwrap());
    assert_eq!(rows(&stage)[0]["state"], "sealed");
}

#[test]
fn gc_removes_checkouts_of_removed_sessions_and_their_work_stays() {
    let stage = made();
    let row = rows(&stage).remove(0);
    let kept = stage.bosun(["gc", "--json"]).run().expect(0).json();
    assert_eq!((&kept["checkouts"]["removed"], rows(&stage).len()), (&0.into(), 1));
    let gone = stage.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(gone["checkouts"]["removed"], 1, "{gone}");
    assert!(gone["checkouts"]["bytes"].as_u64().unwrap() > 0);
    assert!(rows(&stage).is_empty() && !fs::exists(row["path"].as_str().unwrap()).unwrap());
    assert_eq!(fs::read_dir(stage.home().join("checkouts")).unwrap().count(), 0);
    assert_eq!(git(&stage, &["show", &format!("{}:made.txt", row["pinned"].as_str().unwrap())]), "made");
}

/// An ordinary user's stage, after a worker did this to its checkout.
fn done_by_ordinary_user(command: &str) -> BinaryFixture {
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    let git = |args: &str| {
        let script = format!(
            "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer: [call: {{ tool: shell, input: {{ command: '{args}' }} }}]\n  - answer: [say: '${{answer}}']\n"
        );
        stage.script(&script).prompt("go").run().expect(0);
    };
    git(
        "git init -q; mkdir dark; echo one > dark/a.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm first",
    );
    stage.script(&format!(
        "version: 1
rules:
  - when: {{ agent: maker, turn: 1 }}
    answer: [call: {{ tool: shell, input: {{ command: '{command}' }} }}]
  - when: {{ agent: maker }}
    answer: [say: made it]
  - when: {{ turn: 1 }}
    answer: [call: {{ tool: task, input: {{ description: d, prompt: p, agent_type: maker, name: first }} }}]
  - answer: [say: '${{answer}}']
"
    ));
    stage.prompt("go").args(["--agents", MAKER]).run();
    stage
}

#[test]
fn what_an_ordinary_user_cannot_read_in_a_checkout_is_not_removed() {
    let stage = done_by_ordinary_user("echo work > dark/work.txt; echo more > more.txt; chmod 000 dark");
    let listed = rows(&stage);
    let [row] = &listed[..] else { panic!("{listed:?}") };
    let gone = stage.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(gone["checkouts"]["removed"], 0, "{gone}");
    let listed = rows(&stage);
    assert_eq!(listed[0]["state"], "trash", "{listed:?}");
    let path = stage.bosun(["checkouts", "restore", row["task"].as_str().unwrap()]).run().expect(0).stdout;
    assert_eq!(fs::read_to_string(format!("{}/dark/work.txt", path.trim())).unwrap(), "work\n");
}

#[test]
fn a_checkout_that_may_not_be_written_to_is_put_into_the_trash_and_brought_back() {
    let stage = done_by_ordinary_user("echo work > work.txt; mkdir shut; echo x > shut/x.txt; chmod 555 shut .");
    let row = rows(&stage).remove(0);
    let (task, path) = (row["task"].as_str().unwrap(), row["path"].as_str().unwrap());
    stage.bosun(["checkouts", "rm", task]).run().expect(0);
    assert!(!fs::exists(path).unwrap());
    stage.bosun(["checkouts", "restore", task]).run().expect(0);
    assert_eq!(fs::read_to_string(format!("{path}/work.txt")).unwrap(), "work\n");
    let gone = stage.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(gone["checkouts"]["removed"], 1, "{gone}");
}
