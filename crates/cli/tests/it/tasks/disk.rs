//! How much of the disk commands may fill.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use protocol::Event;
use serde_json::json;
use testkit::binary::{BinaryFixture, PATIENCE, within};

use super::{state, tasks, tasks_json};
use crate::scripts::shells;
use crate::stage;

/// Prints 20 MB and says when it is done.
fn flood(name: &str) -> String {
    format!("yes | head -c 20000000; touch {name}")
}

fn settings(stage: &BinaryFixture, output: &str) {
    fs::create_dir_all(stage.home()).unwrap();
    fs::write(stage.home().join("config.toml"), format!("[output]\n{output}\n")).unwrap();
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.metadata().map_or(0, |found| if found.is_dir() { size(&entry.path()) } else { found.len() }))
        .sum()
}

/// What the output of commands takes. It is looked at alone: the databases beside it grow and shrink between two looks.
fn kept(stage: &BinaryFixture) -> u64 {
    let sessions = fs::read_dir(stage.home().join("sessions")).into_iter().flatten().flatten();
    sessions.map(|session| size(&session.path().join("output"))).sum()
}

/// The largest that a session's output was seen to be until `done` is there.
fn largest(stage: &BinaryFixture, done: &str) -> u64 {
    let mut most = 0;
    within(PATIENCE, "the flood is over", || {
        most = most.max(kept(stage));
        stage.path(done).exists()
    });
    most
}

/// What a session's folders hold besides output.
fn databases(stage: &BinaryFixture) -> u64 {
    let folders = fs::read_dir(stage.home().join("sessions")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

#[test]
fn commands_that_print_for_ever_stay_under_their_caps() {
    let stage = stage();
    settings(&stage, "command-bytes = 300000\nsession-bytes = 400000\nmin-free-bytes = 0");
    let script = shells(&[
        json!({ "command": flood("first"), "background": true }),
        json!({ "command": "while [ ! -e first ]; do sleep 0.01; done" }),
        json!({ "command": flood("second"), "background": true }),
        json!({ "command": "while [ ! -e second ]; do sleep 0.01; done" }),
    ]);
    let running = stage.script(&script).prompt("go").start();
    assert!(largest(&stage, "first") <= 300_000);
    assert!(largest(&stage, "second") <= 400_000);
    running.wait().expect(0);
    let listed = tasks_json(&stage, &["list", "--kind", "shell"]);
    let paths: Vec<&str> =
        listed["tasks"].as_array().unwrap().iter().map(|task| task["path"].as_str().unwrap()).collect();
    let output = |path: &str| tasks(&stage, &["output", path]);
    assert!(!output(paths[0]).contains("is not stored"));
    assert!(output(paths[1]).contains("is not stored: the commands of this session have reached their limit"));
}

#[test]
fn a_command_that_never_stops_printing_takes_bounded_room_until_it_is_stopped() {
    const CAP: u64 = 300_000;
    let stage = stage();
    settings(&stage, &format!("command-bytes = {CAP}\nmin-free-bytes = 0"));
    let script = shells(&[
        json!({ "command": "yes", "background": true }),
        json!({ "command": "while [ ! -e go ]; do sleep 0.01; done" }),
    ]);
    let running = stage.script(&script).prompt("go").start();
    within(PATIENCE, "the flood is there", || kept(&stage) > CAP / 3);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        assert!(kept(&stage) <= CAP);
        assert!(databases(&stage) < 4 << 20, "the log does not grow with it");
        assert_eq!(state(&tasks_json(&stage, &["list"]), "/root/yes"), "running");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(most.is_some_and(|kib: u64| kib < 128 << 10), "{status}");
    assert_eq!(tasks(&stage, &["stop", "yes"]), "/root/yes is stopped\n");
    fs::write(stage.path("go"), "").unwrap();
    running.wait().expect(0);
    let output = tasks(&stage, &["output", "yes"]);
    assert!(output.starts_with("y\ny\n") && output.len() as u64 <= CAP + 1_000, "{} bytes", output.len());
}

#[test]
fn on_a_disk_near_its_floor_the_session_lives_and_output_is_not_kept() {
    let stage = stage();
    settings(&stage, "min-free-bytes = 9000000000000000000");
    let script = shells(&[
        json!({ "command": "echo here; touch done", "background": true }),
        json!({ "command": "while [ ! -e done ]; do sleep 0.01; done; echo there" }),
    ]);
    stage.script(&script).prompt("go").run().expect(0);
    // The end of the first may be told at any time, also after what the second said.
    let log = stage.log(&stage.newest());
    let there = |event: &Event| matches!(event, Event::CallAnswered { answer, .. } if answer.text.starts_with("there"));
    assert!(log.iter().any(|envelope| there(&envelope.entry.event)), "{log:?}");
    let output = tasks(&stage, &["output", "echo"]);
    assert!(output.contains("this point is not stored: the disk has") && !output.contains("here\n"), "{output}");
}

#[test]
fn the_output_of_removed_tasks_is_collected() {
    let stage = stage();
    let script = shells(&[json!({ "command": "echo much; touch done", "background": true })]);
    stage.script(&script).prompt("go").run().expect(0);
    let folder = stage.session_dir(&stage.newest()).join("output");
    let count = || fs::read_dir(&folder).map_or(0, Iterator::count);
    assert_eq!(count(), 1);
    fs::create_dir(folder.join("task-0198c0de000070008000000000000000")).unwrap();
    let dry = stage.bosun(["gc", "--dry-run", "--json"]).run().expect(0).json();
    assert_eq!((&dry["outputs"]["removed"], count()), (&json!(1), 2), "what no session knows");
    assert_eq!(tasks(&stage, &["rm", "echo"]), "/root/echo is removed\n");
    let gone = stage.bosun(["gc"]).run().expect(0);
    gone.says(&["0 removed, 1 kept", "output of 2 tasks removed: 5 bytes"]);
    assert_eq!(count(), 0);
}
