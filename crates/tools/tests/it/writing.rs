//! `create` and `edit`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use bosun_tools::ToolLimits;
use serde_json::json;

use crate::fixture::{Agent, changed};
use crate::viewing::make_fifo;

#[tokio::test]
async fn new_file_is_created_with_its_folders() {
    let agent = Agent::new();
    let output = agent.output("create", json!({ "path": "a/b/c.txt", "content": "x\ny\n" })).await;
    assert_eq!(output.text.as_str(), "created a/b/c.txt (2 lines)");
    assert_eq!(changed(&output), ["a/b/c.txt"]);
    assert_eq!(agent.text("a/b/c.txt"), "x\ny\n");
    agent.done("edit", json!({ "path": "a/b/c.txt", "old": "x", "new": "z" })).await;
    agent.done("create", json!({ "path": "a/b/c.txt", "content": "again" })).await;
    assert_eq!(agent.text("a/b/c.txt"), "again");
    assert_eq!(agent.tree(), ["a", "a/b", "a/b/c.txt"]);
}

#[tokio::test]
async fn an_existing_file_is_replaced_only_as_it_was_viewed() {
    let agent = Agent::new();
    agent.put("a.txt", "old");
    let create = json!({ "path": "a.txt", "content": "new" });
    assert!(agent.refused("create", create.clone()).await.contains("a.txt"));
    agent.done("view", json!({ "path": "a.txt" })).await;
    agent.put("a.txt", "other");
    assert!(agent.refused("create", create.clone()).await.contains("view it again"));
    assert_eq!(agent.text("a.txt"), "other");
    agent.done("view", json!({ "path": "a.txt" })).await;
    assert!(agent.done("create", create).await.starts_with("replaced a.txt"));
    fs::remove_file(agent.path("a.txt")).unwrap();
    assert!(agent.done("create", json!({ "path": "a.txt", "content": "" })).await.starts_with("created"));
}

#[tokio::test]
async fn text_is_replaced_and_shown() {
    let agent = Agent::new();
    agent.put("a.rs", "one\ntwo\nthree\n");
    agent.done("view", json!({ "path": "a.rs" })).await;
    let output = agent.output("edit", json!({ "path": "a.rs", "old": "two", "new": "2" })).await;
    assert_eq!(output.text.as_str(), "edited a.rs\n 1\tone\n-2\ttwo\n+2\t2\n 3\tthree\n");
    assert_eq!(changed(&output), ["a.rs"]);
    agent.done("edit", json!({ "path": "a.rs", "old": "e", "new": "E", "all": true })).await;
    assert_eq!(agent.text("a.rs"), "onE\n2\nthrEE\n");
    let text = agent.refused("edit", json!({ "path": "a.rs", "old": "E", "new": "e" })).await;
    assert!(text.contains("occurs 3 times, at lines 1, 3, 3"), "{text}");
    let text = agent.refused("edit", json!({ "path": "a.rs", "old": "onee", "new": "e" })).await;
    assert!(text.contains("a.rs: `old` was not found; line 1 is closest:\nonE"), "{text}");
}

#[tokio::test]
async fn other_bytes_line_endings_and_mode_are_kept() {
    let agent = Agent::new();
    agent.put("run.sh", b"a\r\nb \xff\r\n");
    fs::set_permissions(agent.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    agent.done("view", json!({ "path": "run.sh" })).await;
    agent.done("edit", json!({ "path": "run.sh", "old": "a\n", "new": "x\ny\n" })).await;
    assert_eq!(agent.bytes("run.sh"), b"x\r\ny\r\nb \xff\r\n");
    assert_eq!(fs::metadata(agent.path("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[tokio::test]
async fn a_file_is_edited_only_as_it_was_viewed() {
    let agent = Agent::new();
    agent.put("a.txt", "one");
    let edit = json!({ "path": "a.txt", "old": "one", "new": "two" });
    assert!(agent.refused("edit", edit.clone()).await.contains("view it, then edit it"));
    agent.done("view", json!({ "path": "a.txt" })).await;
    agent.put("a.txt", "one!");
    assert!(agent.refused("edit", edit.clone()).await.contains("view it again"));
    agent.done("view", json!({ "path": "./a.txt" })).await;
    agent.done("edit", edit).await;
    assert_eq!(agent.text("a.txt"), "two!");
}

#[tokio::test]
async fn second_agent_to_edit_a_viewed_file_is_refused() {
    let first = Agent::new();
    let second = first.other();
    first.put("a.txt", "one");
    for agent in [&first, &second] {
        agent.done("view", json!({ "path": "a.txt" })).await;
    }
    first.done("edit", json!({ "path": "a.txt", "old": "one", "new": "1st" })).await;
    let edit = json!({ "path": "a.txt", "old": "1st", "new": "2nd" });
    assert!(second.refused("edit", edit.clone()).await.contains("view it again"));
    assert_eq!(first.text("a.txt"), "1st");
    second.done("view", json!({ "path": "a.txt" })).await;
    second.done("edit", edit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_concurrent_edits_succeeds() {
    let agents: Vec<Agent> = {
        let first = Agent::new();
        first.put("a.txt", "one");
        let others: Vec<Agent> = (0..7).map(|_| first.other()).collect();
        std::iter::once(first).chain(others).collect()
    };
    for agent in &agents {
        agent.done("view", json!({ "path": "a.txt" })).await;
    }
    let inputs: Vec<String> = (0..agents.len())
        .map(|n| json!({ "path": "a.txt", "old": "one", "new": format!("{n}") }).to_string())
        .collect();
    let mut calls = tokio::task::JoinSet::new();
    for (agent, input) in agents.into_iter().zip(inputs) {
        calls.spawn(async move { agent.raw("edit", &input).await.is_ok() });
    }
    let won = calls.join_all().await.into_iter().filter(|won| *won).count();
    assert_eq!(won, 1);
}

#[tokio::test]
async fn too_large_file_is_not_edited() {
    let agent = Agent::with(ToolLimits { file_bytes: 10, ..ToolLimits::default() });
    agent.put("a.txt", "more than ten bytes");
    assert_eq!(agent.done("view", json!({ "path": "a.txt" })).await, "1\tmore than ten bytes\n");
    let text = agent.refused("edit", json!({ "path": "a.txt", "old": "more", "new": "less" })).await;
    assert!(text.contains("a.txt has 19 bytes, and at most 10"), "{text}");
}

#[tokio::test]
async fn unwritable_file_is_refused() {
    let agent = Agent::new();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), agent.path("out")).unwrap();
    symlink(outside.path().join("new"), agent.path("dangling")).unwrap();
    agent.put("folder/x", "");
    make_fifo(&agent, "pipe").await;
    for path in ["out/x", "dangling", "../x", "/etc/bosun-test", "folder", "folder/x/y", "pipe", ".", "", "x/../../y"] {
        agent.refused("create", json!({ "path": path, "content": "x" })).await;
        agent.refused("edit", json!({ "path": path, "old": "x", "new": "y" })).await;
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let long = agent.refused("edit", json!({ "path": "../".repeat(100_000), "old": "x", "new": "y" })).await;
    assert!(long.len() <= agent.cx.limits.output_bytes);
    assert!(agent.refused("edit", json!({ "path": "none", "old": "x", "new": "y" })).await.contains("none"));
}
