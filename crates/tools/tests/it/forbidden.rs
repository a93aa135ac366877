//! Files that an ordinary user may not touch. Root may touch everything, so root runs this test again as `nobody`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;

use serde_json::json;

use crate::fixture::Agent;

const NOBODY: u32 = 65534;

#[tokio::test]
async fn forbidden_files_and_folders_are_refused() {
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        return as_nobody("forbidden::forbidden_files_and_folders_are_refused");
    }
    let agent = Agent::new();
    agent.put("secret.txt", "s");
    agent.put("closed/x.txt", "x");
    agent.put("fixed/x.txt", "x");
    agent.put("open.txt", "needle");
    agent.done("view", json!({ "path": "fixed/x.txt" })).await;
    for (path, mode) in [("secret.txt", 0o000), ("closed", 0o000), ("fixed", 0o555)] {
        fs::set_permissions(agent.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    for path in ["secret.txt", "closed", "closed/x.txt"] {
        let text = agent.refused("view", json!({ "path": path })).await;
        assert!(text.contains("permission") && text.contains(path), "{path}: {text}");
    }
    agent.refused("create", json!({ "path": "closed/new", "content": "x" })).await;
    agent.refused("create", json!({ "path": "fixed/new/er", "content": "x" })).await;
    agent.refused("edit", json!({ "path": "fixed/x.txt", "old": "x", "new": "y" })).await;
    assert_eq!(agent.text("fixed/x.txt"), "x");
    let body = "*** Begin Patch\n*** Update File: open.txt\n-needle\n+N\n*** Add File: fixed/n\n+n\n*** End Patch";
    let text = agent.refused("apply_patch", json!({ "patch": body })).await;
    assert!(text.contains("reverted"), "{text}");
    assert_eq!(agent.text("open.txt"), "needle");
    let text = agent.done("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(text, "open.txt\n1: needle\n[1 files could not be read completely: secret.txt]\n");
    for path in ["secret.txt", "closed", "fixed"] {
        fs::set_permissions(agent.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "this test is about another user's process")]
fn as_nobody(test: &str) {
    // `nobody` may not be able to enter the folder of the test executable.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let home = folder.path().join("tmp");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(NOBODY), Some(NOBODY)).unwrap();
    let run = std::process::Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", &home)
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && text.contains("1 passed"), "{text}");
}
