//! `apply_patch`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::fixture::{Agent, changed};

fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch\n") })
}

#[tokio::test]
async fn every_kind_of_change_is_made() {
    let agent = Agent::new();
    agent.put("keep.rs", "fn a() {\n    1\n}\n");
    agent.put("old.rs", "x\ny\n");
    agent.put("gone.txt", "bye\n");
    fs::set_permissions(agent.path("old.rs"), fs::Permissions::from_mode(0o4755)).unwrap();
    agent.done("view", json!({ "path": "gone.txt" })).await;
    let body = "*** Add File: new/n.txt\n+one\n+two\n*** Update File: keep.rs\n@@ fn a() {\n-    1\n+    2\n*** Update \
                File: old.rs\n*** Move to: sub/moved.rs\n x\n-y\n+z\n*** Delete File: gone.txt";
    let output = agent.output("apply_patch", patch(body)).await;
    let told = "added new/n.txt\nupdated keep.rs\nadded sub/moved.rs\nremoved old.rs\nremoved gone.txt";
    assert_eq!(output.text.as_str(), told);
    assert_eq!(changed(&output), ["new/n.txt", "keep.rs", "sub/moved.rs", "old.rs", "gone.txt"]);
    assert_eq!(agent.text("new/n.txt"), "one\ntwo\n");
    assert_eq!(agent.text("keep.rs"), "fn a() {\n    2\n}\n");
    assert_eq!(agent.text("sub/moved.rs"), "x\nz\n");
    assert_eq!(fs::metadata(agent.path("sub/moved.rs")).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(agent.tree(), ["keep.rs", "new", "new/n.txt", "sub", "sub/moved.rs"]);
    agent.done("edit", json!({ "path": "keep.rs", "old": "2", "new": "3" })).await;
}

#[tokio::test]
async fn one_invalid_change_cancels_the_whole_patch() {
    let agent = Agent::new();
    agent.put("a.txt", "a\nb  \nc\n");
    agent.put("b.txt", "b\n");
    let good = "*** Update File: b.txt\n-b\n+B\n*** Add File: n.txt\n+n\n";
    for (bad, expected) in [
        ("*** Update File: a.txt\n-x\n+y", "a.txt: hunk at line"),
        ("*** Update File: a.txt\n a\n-b\n+y", "not viewed yet"),
        ("*** Update File: a.txt\n+end", "not viewed yet"),
        ("*** Update File: a.txt\n*** Move to: moved.txt", "not viewed yet"),
        ("*** Update File: a.txt\n*** Move to: b.txt\n-a\n+A", "b.txt already exists"),
        ("*** Update File: missing.txt\n-x\n+y", "missing.txt"),
        ("*** Update File: b.txt\n-b\n+C", "occurs twice"),
        ("*** Delete File: a.txt", "view it before you delete it"),
        ("*** Delete File: missing.txt", "missing.txt"),
        ("*** Add File: a.txt\n+x", "already exists"),
        ("*** Add File: ../x\n+x", "x"),
        ("*** Add File: x\nx", "line 8 of the patch"),
    ] {
        let text = agent.refused("apply_patch", patch(&format!("{good}{bad}"))).await;
        assert!(text.contains(expected), "{bad}: {text}");
        assert_eq!(agent.tree(), ["a.txt", "b.txt"], "{bad}");
        assert_eq!(agent.text("b.txt"), "b\n", "{bad}");
    }
}

#[tokio::test]
async fn a_viewed_file_may_differ_in_trailing_white_space_but_not_be_changed() {
    let agent = Agent::new();
    agent.put("a.txt", "a  \nb\n");
    let body = "*** Update File: a.txt\n a\n-b\n+B";
    agent.done("view", json!({ "path": "a.txt" })).await;
    agent.put("a.txt", "a  \nb\nc\n");
    assert!(agent.refused("apply_patch", patch(body)).await.contains("view it again"));
    agent.done("view", json!({ "path": "a.txt" })).await;
    agent.done("apply_patch", patch(body)).await;
    assert_eq!(agent.text("a.txt"), "a  \nB\nc\n");
}

#[tokio::test]
async fn failed_write_reverts_the_earlier_ones() {
    let agent = Agent::new();
    agent.put("a.txt", "a\n");
    agent.put("blocked", "a file where a folder must be\n");
    let body =
        "*** Update File: a.txt\n-a\n+A\n*** Add File: n.txt\n+n\n*** Add File: m/x\n+x\n*** Add File: m/x/y\n+y";
    let text = agent.refused("apply_patch", patch(body)).await;
    assert!(text.contains("no file was changed") && text.contains("reverted"), "{text}");
    assert_eq!(agent.text("a.txt"), "a\n");
    assert!(!agent.path("n.txt").exists() && !agent.path("m/x").exists());
}
