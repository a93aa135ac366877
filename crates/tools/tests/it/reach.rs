//! What a call may open: it says so before it runs, and it is asked at the moment of opening, about the path that is
//! opened.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bosun_tools::{FileAccess, FileAccessGuard, RequiredPermission, ToolError, ToolLimits, builtin_tools};
use serde_json::{Value, json};

use crate::fixture::Agent;

/// Permits the files for which `may` returns true.
struct Asked<F: Fn(&Path, FileAccess) -> bool>(F);

impl<F: Fn(&Path, FileAccess) -> bool> std::fmt::Debug for Asked<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

impl<F: Fn(&Path, FileAccess) -> bool + Send + Sync> FileAccessGuard for Asked<F> {
    fn check(&self, path: &Path, how: FileAccess) -> Result<(), ToolError> {
        if (self.0)(path, how) { Ok(()) } else { Err(ToolError::refused("it may not be opened")) }
    }
}

/// Lets `may` decide what the agent's calls may open.
pub(crate) fn asking(agent: &mut Agent, may: impl Fn(&Path, FileAccess) -> bool + Send + Sync + 'static) {
    agent.cx.access_guard = Arc::new(Asked(may));
}

/// The input of a patch.
pub(crate) fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch") })
}

#[tokio::test]
async fn forbidden_files_are_left_out_and_counted() {
    let mut agent = Agent::new();
    for name in ["a.txt", "hidden-1.txt", "sub/hidden-2.txt", "sub/b.txt"] {
        agent.put(name, format!("needle in {name}\n"));
    }
    asking(&mut agent, |path, _| !path.display().to_string().contains("hidden"));
    let listed = agent.done("view", json!({ "path": "." })).await;
    assert_eq!(listed, "./ has 2 entries\na.txt\nsub/\n[1 file left out: it may not be read]\n");
    let found = agent.done("glob", json!({ "pattern": "*.txt" })).await;
    assert_eq!(found, "a.txt\nsub/b.txt\n[2 files left out: they may not be read]\n");
    let found = agent.done("glob", json!({ "pattern": "hidden*" })).await;
    assert_eq!(found, "[2 files left out: they may not be read]\n");
    let found = agent.done("grep", json!({ "pattern": "needle" })).await;
    let expected = "a.txt\n1: needle in a.txt\n\nsub/b.txt\n1: needle in sub/b.txt\n";
    assert_eq!(found, format!("{expected}[2 files left out: they may not be read]\n"));
    let found = agent.done("grep", json!({ "pattern": "hidden-2" })).await;
    assert_eq!(found, "no matches in 2 files\n[2 files left out: they may not be read]\n");
    let found = agent.done("grep", json!({ "pattern": "needle", "files_only": true, "glob": "a.*" })).await;
    assert_eq!(found, "a.txt\n");
    for (tool, input) in [
        ("view", json!({ "path": "hidden-1.txt" })),
        ("grep", json!({ "pattern": "x", "path": "hidden-1.txt" })),
        ("glob", json!({ "pattern": "*", "path": "sub/hidden-2.txt" })),
    ] {
        assert_eq!(agent.refused(tool, input).await, "it may not be opened");
    }
    let hint = agent.refused("view", json!({ "path": "hiden-1.txt" })).await;
    assert!(!hint.contains("hidden-1"), "{hint}");
}

#[tokio::test]
async fn every_file_is_checked_when_it_is_used() {
    let mut agent = Agent::new();
    agent.put("a.txt", "one\n");
    agent.put("b.txt", "one\n");
    symlink("a.txt", agent.path("link")).unwrap();
    let heard: Arc<Mutex<Vec<(String, FileAccess)>>> = Arc::default();
    let (top, ear) = (agent.cx.workspace.cwd().to_owned(), Arc::clone(&heard));
    asking(&mut agent, move |path, how| {
        ear.lock().unwrap().push((path.strip_prefix(&top).unwrap().display().to_string(), how));
        true
    });
    let both = "*** Update File: b.txt\n*** Move to: c.txt\n-one\n+two";
    let calls = [
        ("view", json!({ "path": "link" }), vec![("a.txt", FileAccess::Read)]),
        ("edit", json!({ "path": "./link", "old": "one", "new": "two" }), vec![("a.txt", FileAccess::Edit)]),
        ("create", json!({ "path": "new/x", "content": "x" }), vec![("new/x", FileAccess::Edit)]),
        ("apply_patch", patch(both), vec![("b.txt", FileAccess::Edit), ("c.txt", FileAccess::Edit)]),
        ("apply_patch", patch("*** Add File: d.txt\n+d"), vec![("d.txt", FileAccess::Edit)]),
        ("grep", json!({ "pattern": "two", "path": "a.txt" }), vec![("a.txt", FileAccess::Read)]),
    ];
    for (tool, input, expected) in calls {
        heard.lock().unwrap().clear();
        agent.done(tool, input).await;
        let mut asked = heard.lock().unwrap().clone();
        asked.sort_by(|a, b| a.0.cmp(&b.0));
        // Once when the path is resolved, and again with each use.
        assert!(asked.len() >= 2 * expected.len(), "{tool}: {asked:?}");
        asked.dedup();
        let expected: Vec<_> = expected.into_iter().map(|(path, how)| (path.to_owned(), how)).collect();
        assert_eq!(asked, expected, "{tool}");
    }
}

/// A search through many files spends most of its time on permission checks and on opening files.
#[tokio::test]
async fn search_checks_each_file_once() {
    let mut agent = Agent::new();
    for name in ["a.txt", "b.txt", "sub/c.txt"] {
        agent.put(name, "one\n");
    }
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let (top, ear) = (agent.cx.workspace.cwd().to_owned(), Arc::clone(&heard));
    asking(&mut agent, move |path, _| {
        ear.lock().unwrap().push(path.strip_prefix(&top).unwrap().display().to_string());
        true
    });
    let found = agent.done("grep", json!({ "pattern": "one", "files_only": true })).await;
    assert_eq!(found, "a.txt\nb.txt\nsub/c.txt\n");
    assert_eq!(*heard.lock().unwrap(), ["", "a.txt", "b.txt", "sub/c.txt"]);
}

#[tokio::test]
async fn forbidden_edit_changes_nothing() {
    let mut agent = Agent::new();
    agent.put("fixed.txt", "one\n");
    agent.put("free.txt", "one\n");
    agent.done("view", json!({ "path": "fixed.txt" })).await;
    agent.done("view", json!({ "path": "free.txt" })).await;
    asking(&mut agent, |path, how| how == FileAccess::Read || !path.ends_with("fixed.txt"));
    for (tool, input) in [
        ("edit", json!({ "path": "fixed.txt", "old": "one", "new": "two" })),
        ("create", json!({ "path": "fixed.txt", "content": "two" })),
        ("apply_patch", patch("*** Update File: fixed.txt\n-one\n+two")),
        ("apply_patch", patch("*** Delete File: fixed.txt")),
        ("apply_patch", patch("*** Update File: fixed.txt\n*** Move to: moved.txt\n-one\n+two")),
        ("apply_patch", patch("*** Update File: free.txt\n*** Move to: deep/fixed.txt\n-one\n+two")),
        ("apply_patch", patch("*** Update File: free.txt\n-one\n+two\n*** Update File: fixed.txt\n-one\n+two")),
    ] {
        agent.refused(tool, input).await;
    }
    assert_eq!(agent.tree(), ["fixed.txt", "free.txt"]);
    assert_eq!((agent.text("fixed.txt"), agent.text("free.txt")), ("one\n".into(), "one\n".into()));
}

#[test]
fn call_lists_every_file_that_it_would_open() {
    let needs = |tool: &str, input: Value| {
        let tool = builtin_tools().into_iter().find(|candidate| candidate.spec().name == tool).unwrap();
        tool.required_permissions(&input.to_string(), &ToolLimits::default()).unwrap()
    };
    let (read, edit) =
        (|path: &str| RequiredPermission::Read(path.into()), |path: &str| RequiredPermission::Edit(path.into()));
    assert_eq!(needs("view", json!({ "path": "a" })), [read("a")]);
    assert_eq!(needs("grep", json!({ "pattern": "x" })), [read(".")]);
    assert_eq!(needs("glob", json!({ "pattern": "*", "path": "a" })), [read("a")]);
    assert_eq!(needs("create", json!({ "path": "a", "content": "" })), [edit("a")]);
    assert_eq!(needs("edit", json!({ "path": "a", "old": "x", "new": "y" })), [read("a"), edit("a")]);
    let body = "*** Update File: a\n*** Move to: b\n-x\n+y\n*** Add File: c\n+c\n*** Delete File: d";
    assert_eq!(needs("apply_patch", patch(body)), [read("a"), edit("a"), edit("b"), edit("c"), edit("d")]);
}

/// Permits the path, then swaps the file for another one; the check of the open file must recognise it.
#[derive(Debug)]
struct Swapped {
    secret: std::path::PathBuf,
}

impl FileAccessGuard for Swapped {
    fn check(&self, _: &Path, _: FileAccess) -> Result<(), ToolError> {
        Ok(())
    }

    fn check_name(&self, path: &Path, _: FileAccess) -> Result<(), ToolError> {
        if path.ends_with("b.txt") {
            std::fs::remove_file(path).unwrap();
            std::fs::hard_link(&self.secret, path).unwrap();
        }
        if path.ends_with("c.txt") {
            std::fs::remove_file(path).unwrap();
            symlink(&self.secret, path).unwrap();
        }
        Ok(())
    }

    fn check_opened(&self, _: &Path, file: &std::fs::Metadata) -> Result<(), ToolError> {
        let secret = std::fs::metadata(&self.secret).unwrap();
        let same = std::os::unix::fs::MetadataExt::ino(file) == std::os::unix::fs::MetadataExt::ino(&secret);
        if same { Err(ToolError::refused("it may not be opened")) } else { Ok(()) }
    }
}

/// A permitted path may lead to another file by the time it is opened.
#[tokio::test]
async fn swapped_file_is_checked_by_its_open_descriptor() {
    let mut agent = Agent::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        agent.put(name, "needle\n");
    }
    agent.put(".kept/secret", "needle of a secret\n");
    agent.cx.access_guard = Arc::new(Swapped { secret: agent.path(".kept/secret") });
    let found = agent.done("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(found, "a.txt\n1: needle\n[1 file left out: it may not be read]\n");
}
