//! `view`.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use bosun_tools::ToolLimits;
use serde_json::json;

use crate::fixture::Agent;

#[tokio::test]
async fn shows_text_with_line_numbers() {
    let agent = Agent::new();
    agent.put("a.txt", "one\r\ntwo\nlast");
    assert_eq!(agent.done("view", json!({ "path": "a.txt" })).await, "1\tone\n2\ttwo\n3\tlast\n");
    let absolute = agent.path("a.txt");
    let text = agent.done("view", json!({ "path": absolute, "offset": 2, "limit": 1 })).await;
    assert_eq!(text, "2\ttwo\n[more lines follow in this file of 13 bytes; continue with offset 3]\n");
    assert!(agent.refused("view", json!({ "path": "a.txt", "offset": 9 })).await.contains("the last line is 3"));
    agent.put("empty", "");
    assert_eq!(agent.done("view", json!({ "path": "empty" })).await, "[empty file]");
}

#[tokio::test]
async fn the_window_is_bounded() {
    let agent = Agent::new();
    agent.put("long.txt", (1..=5000).map(|n| format!("{n}\n")).collect::<String>());
    let text = agent.done("view", json!({ "path": "long.txt", "limit": 999_999 })).await;
    assert!(text.contains("\n2000\t2000\n[more lines follow") && text.contains("offset 2001"), "{text}");
    agent.put("wide.txt", "x".repeat(100_000));
    let text = agent.done("view", json!({ "path": "wide.txt" })).await;
    assert!(text.ends_with("[… 98000 bytes more]\n"), "{text}");
    agent.put("both.txt", format!("{}\n", "y".repeat(1500)).repeat(100));
    let text = agent.done("view", json!({ "path": "both.txt" })).await;
    assert!(text.contains("[more lines follow") && !text.contains("left out"), "{text}");
}

#[tokio::test]
async fn a_file_that_is_not_text_is_refused_with_its_kind() {
    let agent = Agent::new();
    agent.put("a.png", b"\x89PNG\r\n\x1a\n\0\0");
    assert!(agent.refused("view", json!({ "path": "a.png" })).await.contains("PNG image, 10 bytes"));
    agent.put("latin.txt", b"caf\xe9\n");
    assert_eq!(agent.done("view", json!({ "path": "latin.txt" })).await, "1\tcaf\u{fffd}\n");
}

#[tokio::test]
async fn huge_file_is_shown_partly_or_refused_at_once() {
    let agent = Agent::with(ToolLimits { scan_bytes: 1 << 20, ..ToolLimits::default() });
    File::create(agent.path("sparse")).unwrap().set_len(5 << 30).unwrap();
    assert!(agent.refused("view", json!({ "path": "sparse" })).await.contains("binary data, 5368709120 bytes"));
    agent.put("log", "line\n".repeat(4000));
    File::options().append(true).open(agent.path("log")).unwrap().set_len(5 << 30).unwrap();
    let text = agent.done("view", json!({ "path": "log", "limit": 2 })).await;
    assert!(text.starts_with("1\tline\n2\tline\n[more lines follow in this file of 5368709120 bytes"), "{text}");
    assert!(agent.refused("view", json!({ "path": "log", "offset": 9999 })).await.contains("not reached within"));
}

#[tokio::test]
async fn missing_file_is_refused_with_similar_names() {
    let agent = Agent::new();
    agent.put("src/main.rs", "");
    agent.put("src/other", "");
    let text = agent.refused("view", json!({ "path": "src/mian.rs" })).await;
    assert!(text.contains("src/main.rs") && !text.contains("src/other"), "{text}");
    let text = agent.refused("view", json!({ "path": "scr/main.rs" })).await;
    assert!(text.contains("src"), "{text}");
    agent.refused("view", json!({ "path": "" })).await;
    agent.refused("view", json!({ "path": "a\0b" })).await;
    agent.refused("view", json!({ "path": "x".repeat(100_000) })).await;
}

#[tokio::test]
async fn folders_are_listed() {
    let agent = Agent::with(ToolLimits { rows: 3, ..ToolLimits::default() });
    agent.put("b.txt", "");
    agent.put("a/x", "");
    symlink("b.txt", agent.path("c")).unwrap();
    assert_eq!(agent.done("view", json!({ "path": "." })).await, "./ has 3 entries\na/\nb.txt\nc@\n");
    let odd = std::ffi::OsStr::from_bytes(b"d\xff");
    fs::write(agent.path("").join(odd), "").unwrap();
    assert!(agent.done("view", json!({ "path": "." })).await.ends_with("[… 1 more; use glob to narrow]\n"));
}

#[tokio::test]
async fn outside_paths_and_special_files_are_refused_without_blocking() {
    let agent = Agent::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    symlink(outside.path(), agent.path("out")).unwrap();
    symlink(outside.path().join("secret"), agent.path("file")).unwrap();
    symlink("/dev/zero", agent.path("zero")).unwrap();
    symlink("loop", agent.path("loop")).unwrap();
    for path in ["out/secret", "file", "zero", "loop", "../x", "/etc/passwd", "/proc/self/root/etc/passwd", "out"] {
        agent.refused("view", json!({ "path": path })).await;
    }
    make_fifo(&agent, "pipe").await;
    assert!(agent.refused("view", json!({ "path": "pipe" })).await.contains("pipe"));
}

/// Makes a FIFO in the workspace.
pub(crate) async fn make_fifo(agent: &Agent, name: &str) {
    let text = agent.done("shell", json!({ "command": format!("mkfifo {name}") })).await;
    assert_eq!(text, "[no output]");
}
