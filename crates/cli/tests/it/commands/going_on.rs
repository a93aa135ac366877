//! Going on with sessions, copying them, and replaying what was recorded.

use std::fs;

use insta::assert_snapshot;

use super::shown;
use testkit::binary::{PATIENCE, ProcessSignal, within};

use crate::scripts::shell;
use crate::stage;

/// Counts the prompts of a conversation by what it said before.
const COUNT: &str = "
version: 1
rules:
  - when: { said: Second }
    answer: [{ say: Third. }]
  - when: { said: First }
    answer: [{ say: Second. }]
  - answer: [{ say: First. }]
";

#[test]
fn the_last_session_of_the_folder_goes_on() {
    let stage = stage();
    stage.script(COUNT);
    fs::create_dir(stage.path("elsewhere")).unwrap();
    assert_eq!(stage.prompt("one").run().expect(0).stdout, "First.\n");
    assert_eq!(stage.prompt("other").within(&stage.path("elsewhere")).run().expect(0).stdout, "First.\n");
    assert_eq!(stage.bosun(["--continue", "-p", "two"]).run().expect(0).stdout, "Second.\n");
    assert_eq!(stage.bosun(["-c", "-p", "three"]).run().expect(0).stdout, "Third.\n");
    assert_eq!(stage.sessions().len(), 2);
    let none = stage.bosun(["--continue", "-p", "x", "-C", "/"]).run().expect(2);
    assert_snapshot!(none.stderr, @r"
    error: there is no session in /
    hint: `bosun sessions` lists all
    ");
    let idle = stage.bosun(["--continue"]).run().expect(2);
    assert_snapshot!(shown(&stage, &idle.stderr), @r#"
    error: session ses-ID has nothing left to do
    hint: give it a prompt: bosun --resume ses-ID -p "…"
    "#);
}

/// A7: whoever resumes a session has the limits that it was begun with, until a flag gives others.
#[test]
fn a_limit_of_agents_stays_with_a_session_that_is_resumed() {
    let stage = stage();
    stage.script(
        "
version: 1
rules:
  - when: { agent: task }
    answer: [{ say: Looked. }]
  - when: { answered: { tool: task } }
    answer: [{ say: \"${answer}\" }]
  - answer: [{ call: { tool: task, input: { description: d, prompt: p, agent_type: task, name: looker } } }]
",
    );
    let first = stage.prompt("one").args(["--max-total-agents", "1"]).run().expect(0).stdout;
    assert!(first.contains("Looked."), "{first}");
    let resumed = stage.bosun(["--continue", "-p", "two"]).run().expect(0).stdout;
    assert!(
        !resumed.contains("Looked.") && resumed.contains("this session has reached its limit of 1 agents"),
        "{resumed}"
    );
    let widened = stage.bosun(["--continue", "-p", "three", "--max-total-agents", "2"]).run().expect(0).stdout;
    assert!(widened.contains("Looked."), "{widened}");
}

#[test]
fn the_last_session_is_the_one_with_the_newest_event() {
    let stage = stage();
    stage.script(
        "
version: 1
rules:
  - when: { turn: 1 }
    answer: [{ call: { tool: shell, input: { command: 'touch began; until [ -e go ]; do sleep 0.01; done' } } }]
  - when: { turn: 2 }
    answer: [{ call: { tool: shell, input: { command: 'touch again; sleep 1000' } } }]
  - answer: [{ say: The older one. }]
",
    );
    fs::write(stage.path("quick.yaml"), crate::scripts::HELLO).unwrap();
    let mut older = stage.prompt("older").start();
    within(PATIENCE, "the first call", || stage.path("began").exists());
    stage.bosun(["-p", "younger", "--model", "script/quick.yaml"]).run().expect(0);
    fs::write(stage.path("go"), "").unwrap();
    within(PATIENCE, "the second call", || stage.path("again").exists());
    older.signal(ProcessSignal::Kill);
    older.wait().expect_killed();
    assert_eq!(stage.bosun(["--continue"]).run().expect(0).stdout, "The older one.\n");
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id() {
    let stage = stage();
    stage.script(COUNT);
    stage.prompt("one").run().expect(0);
    let id = stage.newest();
    let bare = id.strip_prefix("ses-").unwrap();
    assert_eq!(stage.bosun(["--resume", &id, "-p", "two"]).run().expect(0).stdout, "Second.\n");
    assert_eq!(stage.bosun(["--resume", &bare[..8], "-p", "three"]).run().expect(0).stdout, "Third.\n");
    let unknown = stage.bosun(["--resume", "ses-ffff", "-p", "x"]).run().expect(2);
    assert_snapshot!(unknown.stderr, @r"
    error: no session begins with `ses-ffff`
    hint: `bosun sessions` lists them
    ");
    stage.prompt("another").run().expect(0);
    stage.bosun(["--resume", "ses-", "-p", "x"]).run().expect(2).says(&["several sessions begin with", &id, "hint:"]);
    stage.bosun(["--resume", "%", "-p", "x"]).run().expect(2).says(&["no session begins with `%`"]);
}

#[test]
fn a_fork_goes_on_in_a_copy() {
    let stage = stage();
    stage.script(COUNT).prompt("one").run().expect(0);
    let id = stage.newest();
    let before = stage.log(&id);
    assert_eq!(stage.bosun(["--resume", &id, "--fork", "-p", "two"]).run().expect(0).stdout, "Second.\n");
    assert_eq!(stage.log(&id), before, "the session itself stays as it is");
    assert_eq!(stage.sessions().len(), 2);
    assert_ne!(stage.newest(), id);
    assert_eq!(stage.bosun(["--continue", "-p", "three"]).run().expect(0).stdout, "Third.\n");
    assert_eq!(stage.bosun(["--resume", &id, "-p", "two"]).run().expect(0).stdout, "Second.\n");
    stage.bosun(["--fork", "-p", "x"]).run().expect(2).says(&["--fork needs a session", "hint:"]);
    stage.bosun(["--continue", "--fork"]).run().expect(2).says(&["--fork needs a session", "hint:"]);
}

#[test]
fn a_session_keeps_its_model_folder_and_permission() {
    let stage = stage();
    stage.script(&shell("pwd")).prompt("where?").run().expect(0);
    let id = stage.newest();
    let other = stage.path("other");
    fs::create_dir(&other).unwrap();
    stage.script(
        "
version: 1
rules:
  - when: { prompt: again, not: { answered: { tool: shell } } }
    answer: [{ call: { tool: shell, input: { command: pwd } } }]
  - answer: [{ say: \"${answer}\" }]
",
    );
    let again = stage.bosun(["--resume", &id, "-p", "again"]).within(&other).without_env("BOSUN_MODEL").run();
    assert!(again.expect(0).stdout.ends_with("/work\n"));
}

#[test]
fn a_session_that_runs_cannot_be_run_twice() {
    let stage = stage();
    let running = stage.script(&shell("touch up; while [ ! -e go ]; do sleep 0.01; done")).prompt("wait").start();
    testkit::binary::within(testkit::binary::PATIENCE, "it runs", || stage.path("up").exists());
    let id = stage.newest();
    let pid = running.pid().to_string();
    stage.bosun(["--resume", &id, "-p", "me too"]).run().expect(2).says(&["is run by process", &pid]);
    stage.bosun(["sessions", "rm", &id]).run().expect(2).says(&["is run by process", &pid]);
    fs::write(stage.path("go"), "").unwrap();
    running.wait().expect(0);
}

#[test]
fn a_recording_is_replayed_word_for_word() {
    let stage = stage();
    stage.script(&shell("echo recorded >> witness; cat witness"));
    let first = stage.prompt("go").args(["--record", "run.jsonl"]).run().expect(0);
    fs::remove_file(stage.path("witness")).unwrap();
    let replay = ["--model", "replay/run.jsonl"];
    let second = stage.prompt("go").args(replay).run().expect(0);
    assert_eq!((&first.stdout, &first.stderr), (&second.stdout, &second.stderr));
    let different = stage.prompt("something else").args(replay).run().expect(1);
    different.says(&["recorded user \"go\"", "record the session again"]);
    stage.prompt("go").args(["--record", "/nowhere/run.jsonl"]).run().expect(2).says(&["/nowhere/run.jsonl"]);
}

#[test]
fn a_model_that_was_chosen_is_gone_on_with_by_the_next_process() {
    let stage = stage();
    stage.script(COUNT);
    fs::write(stage.path("other.yaml"), "version: 1\nrules: [{ answer: [{ say: I am another. }] }]").unwrap();
    assert_eq!(stage.prompt("one").run().expect(0).stdout, "First.\n");
    let told = stage.bosun(["--continue", "-p", "/model script/other.yaml"]).run().expect(0).stdout;
    assert!(told.ends_with("other.yaml, from the next turn on\n"), "{told}");
    assert_eq!(stage.bosun(["--continue", "-p", "two"]).run().expect(0).stdout, "I am another.\n");
    let shown = stage.bosun(["sessions", "show", &stage.newest()]).run().expect(0).stdout;
    assert!(shown.contains("other.yaml"), "{shown}");
    let unknown = stage.bosun(["--continue", "-p", "/model nobody/nothing"]).run().expect(2);
    unknown.says(&["the model `nobody/nothing` cannot be used"]);
    assert_eq!(stage.bosun(["--continue", "-p", "three"]).run().expect(0).stdout, "I am another.\n");
}
