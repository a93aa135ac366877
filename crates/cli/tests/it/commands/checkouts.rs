//! `bosun checkouts`.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testkit::binary::BinaryFixture;

use crate::{BOSUN, fixture};

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

#[expect(clippy::disallowed_methods, reason = "the repository is created outside of Bosun")]
fn git(fixture: &BinaryFixture, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(fixture.folder()).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository in whose checkout an agent has worked.
fn fixture_with_checkout() -> BinaryFixture {
    let fixture = fixture();
    fs::write(fixture.path("a.txt"), "one\n").unwrap();
    git(&fixture, &["init", "-q", "-b", "main"]);
    git(&fixture, &["add", "a.txt"]);
    git(&fixture, &["-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-q", "-m", "first"]);
    let output = fixture.script(MAKES).prompt("go").args(["--agents", MAKER]).run().expect(0).stdout;
    assert!(output.contains("files changed: made.txt") && output.contains("`git merge refs/bosun/"), "{output}");
    fixture
}

fn rows(fixture: &BinaryFixture) -> Vec<Value> {
    fixture.bosun(["checkouts", "--json"]).run().expect(0).json().as_array().unwrap().clone()
}

#[test]
fn checkout_is_listed_trashed_and_restored() {
    let fixture = fixture_with_checkout();
    let listed = rows(&fixture);
    let [row] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((&row["state"], &row["name"]), (&"sealed".into(), &"first".into()));
    let (task, path) = (row["task"].as_str().unwrap(), row["path"].as_str().unwrap());
    assert_eq!(git(&fixture, &["show", &format!("{}:made.txt", row["pinned"].as_str().unwrap())]), "made");
    assert!(!fixture.path("made.txt").exists());
    assert!(fixture.bosun(["checkouts"]).run().expect(0).stdout.contains(task));

    fixture.bosun(["checkouts", "rm", "no-such"]).run().expect(2).says(&["no checkout `no-such`"]);
    fixture.bosun(["checkouts", "rm", task]).run().expect(0);
    assert!(!fs::exists(path).unwrap());
    assert_eq!(rows(&fixture)[0]["state"], "trash");
    assert!(fixture.bosun(["doctor"]).run().stdout.contains("1 in the trash"));
    assert_eq!(fixture.bosun(["checkouts", "restore", task]).run().expect(0).stdout.trim(), path);
    assert!(fs::exists(format!("{path}/made.txt")).unwrap());
    assert_eq!(rows(&fixture)[0]["state"], "sealed");
}

#[test]
fn gc_removes_checkouts_of_removed_sessions_but_keeps_their_work() {
    let fixture = fixture_with_checkout();
    let row = rows(&fixture).remove(0);
    let kept = fixture.bosun(["gc", "--json"]).run().expect(0).json();
    assert_eq!((&kept["checkouts"]["removed"], rows(&fixture).len()), (&0.into(), 1));
    let gone = fixture.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(gone["checkouts"]["removed"], 1, "{gone}");
    assert!(gone["checkouts"]["bytes"].as_u64().unwrap() > 0);
    assert!(rows(&fixture).is_empty() && !fs::exists(row["path"].as_str().unwrap()).unwrap());
    assert_eq!(fs::read_dir(fixture.home().join("checkouts")).unwrap().count(), 0);
    assert_eq!(git(&fixture, &["show", &format!("{}:made.txt", row["pinned"].as_str().unwrap())]), "made");
}

/// A repository of an ordinary user, in whose checkout a worker ran this command.
fn fixture_of_ordinary_user(command: &str) -> BinaryFixture {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let git = |args: &str| {
        let script = format!(
            "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer: [call: {{ tool: shell, input: {{ command: '{args}' }} }}]\n  - answer: [say: '${{answer}}']\n"
        );
        fixture.script(&script).prompt("go").run().expect(0);
    };
    git(
        "git init -q; mkdir dark; echo one > dark/a.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm first",
    );
    fixture.script(&format!(
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
    fixture.prompt("go").args(["--agents", MAKER]).run();
    fixture
}

#[test]
fn checkout_with_unreadable_files_is_not_removed() {
    let fixture = fixture_of_ordinary_user("echo work > dark/work.txt; echo more > more.txt; chmod 000 dark");
    let listed = rows(&fixture);
    let [row] = &listed[..] else { panic!("{listed:?}") };
    let gone = fixture.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(gone["checkouts"]["removed"], 0, "{gone}");
    let listed = rows(&fixture);
    assert_eq!(listed[0]["state"], "trash", "{listed:?}");
    let path = fixture.bosun(["checkouts", "restore", row["task"].as_str().unwrap()]).run().expect(0).stdout;
    assert_eq!(fs::read_to_string(format!("{}/dark/work.txt", path.trim())).unwrap(), "work\n");
}

#[test]
fn read_only_checkout_is_trashed_and_restored() {
    let fixture = fixture_of_ordinary_user("echo work > work.txt; mkdir shut; echo x > shut/x.txt; chmod 555 shut .");
    let row = rows(&fixture).remove(0);
    let (task, path) = (row["task"].as_str().unwrap(), row["path"].as_str().unwrap());
    fixture.bosun(["checkouts", "rm", task]).run().expect(0);
    assert!(!fs::exists(path).unwrap());
    fixture.bosun(["checkouts", "restore", task]).run().expect(0);
    assert_eq!(fs::read_to_string(format!("{path}/work.txt")).unwrap(), "work\n");
    let gone = fixture.bosun(["gc", "--days", "0", "--json"]).run().expect(0).json();
    assert_eq!(gone["checkouts"]["removed"], 1, "{gone}");
}
