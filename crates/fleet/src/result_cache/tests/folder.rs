//! Tests the result cache with the files of a real folder and with a real store.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use host::Home;
use protocol::{Timestamp, Todo};
use store::FleetResultStore;
use tempfile::TempDir;

use super::{default_assignment, todo};
use crate::result_cache::{
    CacheLookup, CacheMissReason, FilePatterns, RunResultCache, TreeSnapshot, WorkLocation, excluded_paths,
};

/// A workspace with Bosun's home in it.
struct CacheTestFolder {
    base: TempDir,
}

impl CacheTestFolder {
    fn new() -> CacheTestFolder {
        let folder = CacheTestFolder { base: tempfile::tempdir().unwrap() };
        for (path, text) in [
            (".gitignore", "target\n"),
            (".github/ci.yml", "on: push"),
            (".git/HEAD", "ref: refs/heads/main"),
            ("plan.yaml", "todos: []"),
            ("src/a.rs", "a"),
            ("src/lexer/mod.rs", "lexer"),
            ("src/lexer.rs", "not in the folder"),
            ("target/out", "built"),
        ] {
            folder.write(path, text);
        }
        folder
    }

    fn path(&self, relative: &str) -> std::path::PathBuf {
        self.base.path().canonicalize().unwrap().join(relative)
    }

    fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn home(&self) -> Home {
        Home::open(self.path("home")).unwrap()
    }

    fn snapshot(&self) -> TreeSnapshot {
        let excluded = excluded_paths(&self.home(), Some(&self.path("plan.yaml")));
        TreeSnapshot::capture(&self.path(""), excluded).unwrap()
    }

    fn state(&self, files: &[&str]) -> String {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        self.snapshot().state(&FilePatterns::parse(&files).unwrap())
    }

    fn begin(&self, todos: &[Todo]) -> RunResultCache<FleetResultStore> {
        let results = FleetResultStore::open(&self.home(), "/w").unwrap();
        let mut cache = RunResultCache::begin(results, Ok(self.snapshot()));
        todos.iter().for_each(|todo| cache.register(todo, &default_assignment()));
        cache
    }

    /// Performs a run without failures; returns the todos that were done, not reused.
    fn run(&self, todos: &[Todo]) -> Vec<String> {
        let mut cache = self.begin(todos);
        let mut done = Vec::new();
        for todo in todos {
            if let CacheLookup::Miss(_) = cache.lookup(todo, |_| false) {
                done.push(todo.id.0.clone());
                cache.store(todo, "done", None, Timestamp(1));
            }
        }
        cache.finish(Ok(self.snapshot()), WorkLocation::InWorkspace, Timestamp(2));
        done
    }

    fn predicted_reason(&self, todos: &[Todo], id: &str) -> String {
        match self.begin(todos).predict(todos, |_| false).remove(&id.into()).unwrap() {
            CacheLookup::Hit { .. } => "reused".into(),
            CacheLookup::Miss(why) => why.to_string(),
        }
    }
}

#[test]
fn only_changes_of_relevant_files_change_the_state() {
    let folder = CacheTestFolder::new();
    let whole = folder.state(&[]);
    for (path, text) in [("target/out", "other"), (".git/HEAD", "other"), ("plan.yaml", "other"), ("home/x", "new")] {
        folder.write(path, text);
        assert_eq!(folder.state(&[]), whole, "{path}");
    }
    let mut seen = vec![whole];
    let mut differs = |what: &str| {
        let state = folder.state(&[]);
        assert!(!seen.contains(&state), "{what}");
        seen.push(state);
    };
    folder.write(".github/ci.yml", "on: pull");
    differs("a hidden file");
    folder.write("src/new", "");
    differs("a new file");
    fs::set_permissions(folder.path("src/new"), fs::Permissions::from_mode(0o755)).unwrap();
    differs("a file that can be run");
    fs::remove_file(folder.path("src/new")).unwrap();
    symlink("a.rs", folder.path("src/new")).unwrap();
    differs("a link");
    fs::remove_file(folder.path("src/new")).unwrap();
    symlink("/etc/passwd", folder.path("src/new")).unwrap();
    differs("a link to elsewhere");
    fs::rename(folder.path("src/a.rs"), folder.path("src/b.rs")).unwrap();
    differs("another name");
}

#[test]
fn patterns_name_files_and_folders() {
    let folder = CacheTestFolder::new();
    let changes_state = |pattern: &str, path: &str| {
        let before = folder.state(&[pattern]);
        let text = fs::read_to_string(folder.path(path)).unwrap();
        folder.write(path, &format!("{text}!"));
        folder.state(&[pattern]) != before
    };
    for (pattern, path, expected) in [
        ("src/lexer", "src/lexer/mod.rs", true),
        ("src/lexer/", "src/lexer/mod.rs", true),
        ("./src/lexer/**", "src/lexer/mod.rs", true),
        ("src/lexer", "src/lexer.rs", false),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/lexer/mod.rs", false),
        ("src/**/*.rs", "src/lexer/mod.rs", true),
        ("src/{a,b}.rs", "src/a.rs", true),
        ("s?c", "src/lexer/mod.rs", true),
        ("**/mod.rs", "src/lexer/mod.rs", true),
        (".github", ".github/ci.yml", true),
        ("docs", "src/a.rs", false),
    ] {
        assert_eq!(changes_state(pattern, path), expected, "{pattern} {path}");
    }
    for invalid in ["", "/etc", "../x", "a/../../b", "a[", "{a"] {
        assert!(FilePatterns::parse(&[invalid.to_owned()]).is_err(), "{invalid}");
    }
    assert!(FilePatterns::parse(&["{".repeat(501)]).is_err());
}

#[test]
fn special_files_have_a_state_of_their_own() {
    let folder = CacheTestFolder::new();
    let before = folder.state(&[]);
    let fifo = folder.path("src/fifo");
    let _socket = std::os::unix::net::UnixListener::bind(&fifo).unwrap();
    let with_socket = folder.state(&[]);
    assert_ne!(with_socket, before);
    assert_eq!(folder.state(&[]), with_socket);
    assert_eq!(folder.state(&["src/a.rs"]).len(), 32);
}

#[test]
fn an_edit_invalidates_todos_that_declare_the_file_or_no_files() {
    let folder = CacheTestFolder::new();
    let todos = [
        todo("lexer", &[], &["src/lexer"]),
        todo("all", &[], &[]),
        todo("rest", &[], &["src/*.rs", "docs"]),
        todo("after", &["lexer"], &["docs"]),
    ];
    assert_eq!(folder.run(&todos), ["lexer", "all", "rest", "after"]);
    assert!(folder.run(&todos).is_empty());
    folder.write("notes.txt", "of a person");
    assert_eq!(folder.predicted_reason(&todos, "all"), "files changed, and it declares no files");
    assert_eq!(folder.run(&todos), ["all"]);
    folder.write("src/lexer/mod.rs", "edited");
    folder.write("docs/x", "edited");
    assert_eq!(folder.predicted_reason(&todos, "rest"), "files changed: docs");
    assert_eq!(folder.predicted_reason(&todos, "after"), "lexer runs again");
    assert_eq!(folder.run(&todos), ["lexer", "all", "rest", "after"]);
    assert!(folder.run(&todos).is_empty());
    let renamed = todos.clone().map(|todo| Todo { title: format!("{}, please", todo.title), ..todo });
    assert_eq!(folder.predicted_reason(&renamed, "rest"), "definition changed");
    let other = [todo("other", &[], &["docs"])];
    assert_eq!(folder.predicted_reason(&other, "other"), "never done");
}

#[test]
fn todos_of_an_interrupted_run_and_reopened_todos_are_done_again() {
    let folder = CacheTestFolder::new();
    let todos = [todo("a", &[], &["src"]), todo("b", &[], &["src"])];
    folder.begin(&todos).store(&todos[0], "done", None, Timestamp(1));
    assert_eq!(folder.predicted_reason(&todos, "a"), "the run that did it was interrupted");
    assert_eq!(folder.run(&todos), ["a", "b"]);
    let mut second = folder.begin(&todos);
    let reused = CacheLookup::Hit { result: "done".into(), work: None };
    assert_eq!(second.lookup(&todos[0], |_| false), reused);
    assert_eq!(second.lookup(&todos[0], |_| false), CacheLookup::Miss(CacheMissReason::Reopened));
    second.finish(Ok(folder.snapshot()), WorkLocation::InWorkspace, Timestamp(3));
    assert_eq!(folder.predicted_reason(&todos, "a"), "never done");
    assert_eq!(folder.predicted_reason(&todos, "b"), "reused");
}

#[test]
fn a_new_owner_stores_again_what_an_earlier_owner_did() {
    let folder = CacheTestFolder::new();
    let todos = [todo("a", &[], &["src"]), todo("b", &["a"], &["docs"])];
    folder.begin(&todos).store(&todos[0], "done", Some("c0ffee"), Timestamp(1));
    folder.write("src/a.rs", "changed meanwhile");
    let mut second = folder.begin(&todos);
    second.store(&todos[0], "done", Some("c0ffee"), Timestamp(2));
    assert_eq!(second.lookup(&todos[1], |_| false), CacheLookup::Miss(CacheMissReason::NeverDone));
    second.store(&todos[1], "done", None, Timestamp(2));
    second.finish(Ok(folder.snapshot()), WorkLocation::InCommits, Timestamp(3));
    assert_eq!(folder.predicted_reason(&todos, "a"), "files changed: src");
    folder.write("src/a.rs", "a");
    let merged = CacheLookup::Hit { result: "done".into(), work: Some("c0ffee".into()) };
    assert_eq!(folder.begin(&todos).lookup(&todos[0], |_| true), merged);
}

#[test]
fn a_result_that_arrives_before_its_dependencies_is_stored_too() {
    let folder = CacheTestFolder::new();
    let todos = [todo("a", &[], &[]), todo("b", &["a"], &[]), todo("c", &["a", "b"], &[]), todo("d", &["gone"], &[])];
    let mut cache = folder.begin(&todos);
    todos.iter().rev().for_each(|todo| cache.store(todo, "done", None, Timestamp(1)));
    cache.finish(Ok(folder.snapshot()), WorkLocation::InWorkspace, Timestamp(2));
    assert_eq!(
        ["a", "b", "c", "d"].map(|id| folder.predicted_reason(&todos, id)),
        ["reused", "reused", "reused", "gone runs again"]
    );
}

#[test]
fn work_in_a_commit_is_reused_while_the_commit_exists() {
    let folder = CacheTestFolder::new();
    let todos = [todo("a", &[], &["src"])];
    let mut first = folder.begin(&todos);
    first.store(&todos[0], "done", Some("c0ffee"), Timestamp(1));
    first.finish(Ok(folder.snapshot()), WorkLocation::InCommits, Timestamp(2));
    let lookup = |exists: bool| folder.begin(&todos).lookup(&todos[0], |_| exists);
    let reused = |work: Option<&str>| CacheLookup::Hit { result: "done".into(), work: work.map(str::to_owned) };
    assert_eq!(lookup(true), reused(Some("c0ffee")));
    assert_eq!(lookup(false), CacheLookup::Miss(CacheMissReason::CommitGone));
    let mut merged = folder.begin(&todos);
    merged.lookup(&todos[0], |_| true);
    folder.write("src/a.rs", "merged");
    merged.finish(Ok(folder.snapshot()), WorkLocation::InWorkspace, Timestamp(3));
    assert_eq!(lookup(false), reused(None));
    folder.write("src/a.rs", "edited");
    assert_eq!(lookup(true), CacheLookup::Miss(CacheMissReason::FilesChanged(vec!["src".into()])));
    folder.write("src/a.rs", "a");
    assert_eq!(lookup(true), reused(Some("c0ffee")));
}

#[test]
fn a_missing_workspace_has_no_files() {
    assert_eq!(
        TreeSnapshot::capture(Path::new("/no/such/place"), Vec::new()).unwrap().state(&FilePatterns::default()).len(),
        32
    );
}
