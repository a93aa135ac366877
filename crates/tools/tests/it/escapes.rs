//! No path, link or race leads a tool out of its workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bosun_tools::ToolLimits;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::Agent;
use crate::reach::{asking, patch};

/// A text that only the files outside contain.
const SECRET: &str = "outside-secret";

/// A folder beside the workspace, with files that must not be read or changed.
struct Outside(TempDir);

impl Outside {
    fn new() -> Outside {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.txt", "sub/a.txt", "outside-name.txt"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, SECRET).unwrap();
        }
        Outside(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Fails if a file has changed.
    fn verify(&self, what: &str) {
        let names = |path: &Path| fs::read_dir(path).unwrap().count();
        assert_eq!((names(self.0.path()), names(&self.path("sub"))), (3, 1), "{what}");
        for name in ["a.txt", "sub/a.txt", "outside-name.txt"] {
            assert_eq!(fs::read_to_string(self.path(name)).unwrap(), SECRET, "{what}");
        }
    }
}

/// One call of each kind on a path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let to = format!("*** Update File: ours.txt\n*** Move to: {path}\n-ours\n+theirs");
    vec![
        ("view", json!({ "path": path })),
        ("grep", json!({ "pattern": "s", "path": path, "glob": "*" })),
        ("glob", json!({ "pattern": "**/*", "path": path })),
        ("create", json!({ "path": path, "content": "theirs" })),
        ("edit", json!({ "path": path, "old": "ours", "new": "theirs" })),
        ("apply_patch", patch(&format!("*** Update File: {path}\n-ours\n+theirs"))),
        ("apply_patch", patch(&format!("*** Add File: {path}\n+theirs"))),
        ("apply_patch", patch(&format!("*** Delete File: {path}"))),
        ("apply_patch", patch(&to)),
    ]
}

/// The output of a call, whether it succeeded or was refused.
async fn said(agent: &Agent, tool: &str, input: &Value) -> String {
    match agent.raw(tool, &input.to_string()).await {
        Ok(output) => output.text.into_string(),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn assert_blind(said: &str, what: &str) {
    assert!(!said.contains(SECRET) && !said.contains("outside-name"), "{what}: {said}");
}

#[tokio::test]
async fn link_created_during_the_check_is_not_followed() {
    for number in 0..calls("x").len() {
        for moment in 1..=4 {
            for (path, swapped, target) in
                [("dir/a.txt", "dir/a.txt", "a.txt"), ("dir/a.txt", "dir", ""), ("dir", "dir", "")]
            {
                let (mut agent, outside) = (Agent::new(), Outside::new());
                agent.put("dir/a.txt", "ours\n");
                agent.put("ours.txt", "ours\n");
                agent.done("view", json!({ "path": "dir/a.txt" })).await;
                agent.done("view", json!({ "path": "ours.txt" })).await;
                let (victim, target) = (agent.path(swapped), outside.path(target));
                let asked = AtomicUsize::new(0);
                asking(&mut agent, move |_, _| {
                    if asked.fetch_add(1, Ordering::SeqCst) + 1 == moment {
                        fs::rename(&victim, victim.with_extension("away")).unwrap();
                        symlink(&target, &victim).unwrap();
                    }
                    true
                });
                let (tool, input) = &calls(path)[number];
                let what = format!("{tool} {input}, {swapped} swapped at check {moment}");
                assert_blind(&said(&agent, tool, input).await, &what);
                outside.verify(&what);
            }
        }
    }
}

#[tokio::test]
async fn no_path_leads_a_tool_outside() {
    let (agent, outside) = (Agent::new(), Outside::new());
    agent.put("ours.txt", "ours\n");
    agent.put("dir/ours.txt", "ours\n");
    let links = [
        ("file", outside.path("a.txt")),
        ("folder", outside.path("")),
        ("chain", "chain-2".into()),
        ("chain-2", outside.path("sub")),
        ("loop", "loop".into()),
        ("dangling", outside.path("missing")),
        ("system", "/proc/self/root".into()),
        ("here", "/proc/self/cwd".into()),
        ("stdin", "/dev/fd/0".into()),
    ];
    for (name, target) in links {
        symlink(target, agent.path(name)).unwrap();
    }
    let out = outside.path("").canonicalize().unwrap().display().to_string();
    let up = "../".repeat(30);
    let mut paths: Vec<String> =
        ["file", "folder", "folder/a.txt", "folder/new", "chain/a.txt", "chain/../a.txt", "loop"]
            .into_iter()
            .chain([
                "loop/x",
                "dangling",
                "dangling/x",
                "system",
                "here/..",
                "stdin",
                "..",
                "dir/../..",
                "file/",
                "file/.",
            ])
            .chain([
                "folder/",
                "folder/.",
                "folder/sub/..",
                "\u{ff0e}\u{ff0e}",
                "OURS.TXT",
                "ours.txt\u{0}",
                "ou\u{301}rs.txt",
            ])
            .map(str::to_owned)
            .collect();
    paths.extend([
        format!("{out}a.txt"),
        format!("{out}new"),
        format!("{up}{}a.txt", &out[1..]),
        format!("dir/{up}{}a.txt", &out[1..]),
        format!("/proc/self/root{out}a.txt"),
        format!("system{out}a.txt"),
        format!("system{out}new"),
        format!("/proc/self/cwd/{up}{}a.txt", &out[1..]),
        "n".repeat(300),
        "d/".repeat(2500),
    ]);
    for path in &paths {
        for (tool, input) in calls(path) {
            let what = format!("{tool} {input}");
            // A call may move the file to a name that only looks like another path; so it is written again.
            agent.put("ours.txt", "ours\n");
            assert_blind(&said(&agent, tool, &input).await, &what);
            outside.verify(&what);
        }
    }
    assert_eq!(agent.text("dir/ours.txt"), "ours\n");
}

#[tokio::test]
async fn unusual_file_names_work() {
    let agent = Agent::new();
    for name in ["new\nline", "\u{1b}[2Jx", "tab\t", "\u{202e}txt", " ", "...", "-rf", "*", "ﬁle", "FILE", "file"] {
        agent.done("create", json!({ "path": name, "content": "one\n" })).await;
        agent.done("edit", json!({ "path": name, "old": "one", "new": "two" })).await;
        assert_eq!(agent.text(name), "two\n", "{name:?}");
    }
    assert_eq!(agent.tree().len(), 11);
    for path in ["file/", "./file", "file/."] {
        agent.done("edit", json!({ "path": path, "old": "two", "new": "two." })).await;
    }
    assert_eq!((agent.text("file"), agent.tree().len()), ("two...\n".into(), 11));
}

#[tokio::test]
async fn swapping_paths_for_links_never_leads_outside() {
    let (agent, outside) = (Agent::new(), Outside::new());
    agent.put("dir/a.txt", "ours\n");
    agent.put("ours.txt", "ours\n");
    let (dir, aside, target) = (agent.path("dir"), agent.path("aside"), outside.path(""));
    let is_over = Arc::new(AtomicBool::new(false));
    let racer = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            while !is_over.load(Ordering::Relaxed) {
                // A call may make a folder of that name meanwhile, so any of these may fail; the next round mends it.
                let _moved = fs::rename(&dir, &aside);
                let _linked = symlink(&target, &dir);
                std::thread::yield_now();
                let _cleared = fs::remove_dir_all(&dir);
                let _back = fs::rename(&aside, &dir);
            }
        }
    });
    let began = Instant::now();
    let inputs: Vec<_> = [calls("dir/a.txt"), calls("dir/new.txt"), calls("dir")].concat();
    for (tool, input) in inputs.iter().cycle().take(5_000) {
        assert_blind(&said(&agent, tool, input).await, &format!("{tool} {input}"));
        if began.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    racer.join().unwrap();
    outside.verify("a race");
}

#[tokio::test]
async fn walk_continues_while_folders_move_and_shows_nothing_from_outside() {
    let (mut agent, outside) = (Agent::with(ToolLimits { rows: 1000, ..ToolLimits::default() }), Outside::new());
    for folder in 0..20 {
        agent.put(&format!("dir-{folder:02}/a.txt"), "ours\n");
    }
    let (top, target) = (agent.path(""), outside.path(""));
    let asked = AtomicUsize::new(0);
    asking(&mut agent, move |_, _| {
        let count = asked.fetch_add(1, Ordering::SeqCst);
        // Always a few folders ahead of the walk.
        let next = top.join(format!("dir-{:02}", count / 2 + 3));
        if count.is_multiple_of(4) && fs::rename(&next, next.with_extension("away")).is_ok() {
            symlink(&target, &next).unwrap();
        }
        true
    });
    let grepped = agent.done("grep", json!({ "pattern": "s" })).await;
    assert_blind(&grepped, "grep");
    assert!(grepped.contains("dir-00/a.txt"), "{grepped}");
    assert_blind(&agent.done("glob", json!({ "pattern": "*.txt" })).await, "glob");
    outside.verify("a walk");
}

#[tokio::test]
async fn workspace_replaced_by_a_link_shows_nothing() {
    let (agent, outside) = (Agent::new(), Outside::new());
    agent.put("a.txt", "ours\n");
    let top = agent.path("");
    let moved = top.with_extension("moved");
    fs::rename(&top, &moved).unwrap();
    let top = PathBuf::from(top.to_str().unwrap().trim_end_matches('/'));
    symlink(outside.path(""), &top).unwrap();
    for path in [".", "a.txt", "new.txt"] {
        for (tool, input) in calls(path) {
            assert_blind(&said(&agent, tool, &input).await, &format!("{tool} {input}"));
        }
    }
    outside.verify("a link");
    fs::remove_file(&top).unwrap();
    fs::rename(&moved, &top).unwrap();
}

#[tokio::test]
async fn root_replaced_by_a_link_during_a_walk_shows_no_names() {
    let (mut agent, outside) = (Agent::new(), Outside::new());
    agent.put("dir/a.txt", "ours\n");
    let (dir, target) = (agent.path("dir"), outside.path(""));
    let asked = AtomicUsize::new(0);
    asking(&mut agent, move |_, _| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            fs::rename(&dir, dir.with_extension("away")).unwrap();
            symlink(&target, &dir).unwrap();
        }
        true
    });
    assert_eq!(agent.done("glob", json!({ "pattern": "*", "path": "dir" })).await, "no files match");
}

#[tokio::test]
async fn editing_through_a_hard_link_creates_a_separate_file() {
    // Reading a hard link reads the file, which is in the workspace as much as anywhere else; whoever made the link
    // could read it already.
    let (agent, outside) = (Agent::new(), Outside::new());
    for (tool, input) in [
        ("edit", json!({ "path": "edited", "old": SECRET, "new": "x" })),
        ("create", json!({ "path": "replaced", "content": "x" })),
        ("apply_patch", patch(&format!("*** Update File: patched\n-{SECRET}\n+x"))),
        ("apply_patch", patch("*** Delete File: removed")),
    ] {
        let names = ["edited", "replaced", "patched", "removed"];
        let name = names.into_iter().find(|name| input.to_string().contains(name)).unwrap();
        fs::hard_link(outside.path("a.txt"), agent.path(name)).unwrap();
        agent.done("view", json!({ "path": name })).await;
        agent.done(tool, input).await;
    }
    outside.verify("a hard link");
    assert_eq!(agent.tree(), ["edited", "patched", "replaced"]);
}
