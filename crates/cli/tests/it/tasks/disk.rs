//! Disk limits for command output.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use protocol::Event;
use serde_json::json;
use testkit::binary::{BinaryFixture, PATIENCE, within};

use super::{state, tasks, tasks_json};
use crate::fixture;
use crate::scripts::shells;

/// Prints 20 MB and creates a file when it is done.
fn flood(name: &str) -> String {
    format!("yes | head -c 20000000; touch {name}")
}

fn settings(fixture: &BinaryFixture, output: &str) {
    fs::create_dir_all(fixture.home()).unwrap();
    fs::write(fixture.home().join("config.toml"), format!("[output]\n{output}\n")).unwrap();
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.metadata().map_or(0, |found| if found.is_dir() { size(&entry.path()) } else { found.len() }))
        .sum()
}

/// The size of the stored command output, without the databases beside it, which grow and shrink meanwhile.
fn output_size(fixture: &BinaryFixture) -> u64 {
    let sessions = fs::read_dir(fixture.home().join("sessions")).into_iter().flatten().flatten();
    sessions.map(|session| size(&session.path().join("output"))).sum()
}

/// The largest observed size of the output until the file `done` exists.
fn largest_output_size(fixture: &BinaryFixture, done: &str) -> u64 {
    let mut most = 0;
    within(PATIENCE, "the flood is over", || {
        most = most.max(output_size(fixture));
        fixture.path(done).exists()
    });
    most
}

/// The size of the other files in the session folders.
fn database_size(fixture: &BinaryFixture) -> u64 {
    let folders = fs::read_dir(fixture.home().join("sessions")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

#[test]
fn endless_output_stays_under_its_limits() {
    let fixture = fixture();
    settings(&fixture, "command-bytes = 300000\nsession-bytes = 400000\nmin-free-bytes = 0");
    let script = shells(&[
        json!({ "command": flood("first"), "background": true }),
        json!({ "command": "while [ ! -e first ]; do sleep 0.01; done" }),
        json!({ "command": flood("second"), "background": true }),
        json!({ "command": "while [ ! -e second ]; do sleep 0.01; done" }),
    ]);
    let running = fixture.script(&script).prompt("go").start();
    assert!(largest_output_size(&fixture, "first") <= 300_000);
    assert!(largest_output_size(&fixture, "second") <= 400_000);
    running.wait().expect(0);
    let listed = tasks_json(&fixture, &["list", "--kind", "shell"]);
    let paths: Vec<&str> =
        listed["tasks"].as_array().unwrap().iter().map(|task| task["path"].as_str().unwrap()).collect();
    let output = |path: &str| tasks(&fixture, &["output", path]);
    assert!(!output(paths[0]).contains("is not stored"));
    assert!(output(paths[1]).contains("is not stored: the commands of this session have reached their limit"));
}

#[test]
fn endless_command_uses_bounded_space_until_stopped() {
    const CAP: u64 = 300_000;
    let fixture = fixture();
    settings(&fixture, &format!("command-bytes = {CAP}\nmin-free-bytes = 0"));
    let script = shells(&[
        json!({ "command": "yes", "background": true }),
        json!({ "command": "while [ ! -e go ]; do sleep 0.01; done" }),
    ]);
    let running = fixture.script(&script).prompt("go").start();
    within(PATIENCE, "the flood is there", || output_size(&fixture) > CAP / 3);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        assert!(output_size(&fixture) <= CAP);
        assert!(database_size(&fixture) < 4 << 20, "the log does not grow with the output");
        assert_eq!(state(&tasks_json(&fixture, &["list"]), "/root/yes"), "running");
    }
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(most.is_some_and(|kib: u64| kib < 128 << 10), "{status}");
    assert_eq!(tasks(&fixture, &["stop", "yes"]), "/root/yes is stopped\n");
    fs::write(fixture.path("go"), "").unwrap();
    running.wait().expect(0);
    let output = tasks(&fixture, &["output", "yes"]);
    assert!(output.starts_with("y\ny\n") && output.len() as u64 <= CAP + 1_000, "{} bytes", output.len());
}

#[test]
fn nearly_full_disk_drops_output_but_not_the_session() {
    let fixture = fixture();
    settings(&fixture, "min-free-bytes = 9000000000000000000");
    let script = shells(&[
        json!({ "command": "echo here; touch done", "background": true }),
        json!({ "command": "while [ ! -e done ]; do sleep 0.01; done; echo there" }),
    ]);
    fixture.script(&script).prompt("go").run().expect(0);
    // The end of the first command may be reported at any time, even after the output of the second.
    let log = fixture.log(&fixture.newest());
    let there = |event: &Event| matches!(event, Event::CallAnswered { answer, .. } if answer.text.starts_with("there"));
    assert!(log.iter().any(|envelope| there(&envelope.entry.event)), "{log:?}");
    let output = tasks(&fixture, &["output", "echo"]);
    assert!(output.contains("this point is not stored: the disk has") && !output.contains("here\n"), "{output}");
}

#[test]
fn gc_removes_output_of_removed_tasks() {
    let fixture = fixture();
    let script = shells(&[json!({ "command": "echo much; touch done", "background": true })]);
    fixture.script(&script).prompt("go").run().expect(0);
    let folder = fixture.session_dir(&fixture.newest()).join("output");
    let count = || fs::read_dir(&folder).map_or(0, Iterator::count);
    assert_eq!(count(), 1);
    fs::create_dir(folder.join("task-0198c0de000070008000000000000000")).unwrap();
    let dry = fixture.bosun(["gc", "--dry-run", "--json"]).run().expect(0).json();
    assert_eq!((&dry["outputs"]["removed"], count()), (&json!(1), 2), "output without a task");
    assert_eq!(tasks(&fixture, &["rm", "echo"]), "/root/echo is removed\n");
    let gone = fixture.bosun(["gc"]).run().expect(0);
    gone.says(&["0 removed, 1 kept", "output of 2 tasks removed: 5 bytes"]);
    assert_eq!(count(), 0);
}
