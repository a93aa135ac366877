//! Files of a real folder, and the rows of a real store.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use host::Home;
use protocol::{Timestamp, Todo};
use store::FleetResultStore;
use tempfile::TempDir;

use super::{means, todo};
use crate::result_cache::{
    CacheLookup, CacheMissReason, FilePatterns, RunResultCache, TreeSnapshot, WorkLocation, excluded_paths,
};

/// A workspace with Bosun's home in it.
struct CacheTestFolder {
    base: TempDir,
}

impl CacheTestFolder {
    fn new() -> CacheTestFolder {
        let ground = CacheTestFolder { base: tempfile::tempdir().unwrap() };
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
            ground.write(path, text);
        }
        ground
    }

    fn path(&self, below: &str) -> std::path::PathBuf {
        self.base.path().canonicalize().unwrap().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn home(&self) -> Home {
        Home::open(self.path("home")).unwrap()
    }

    fn snapshot(&self) -> TreeSnapshot {
        let apart = excluded_paths(&self.home(), Some(&self.path("plan.yaml")));
        TreeSnapshot::capture(&self.path(""), apart).unwrap()
    }

    fn state(&self, files: &[&str]) -> String {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        self.snapshot().state(&FilePatterns::read(&files).unwrap())
    }

    fn begin(&self, todos: &[Todo]) -> RunResultCache<FleetResultStore> {
        let results = FleetResultStore::open(&self.home(), "/w").unwrap();
        let mut recollection = RunResultCache::begin(results, Ok(self.snapshot()));
        todos.iter().for_each(|todo| recollection.register(todo, &means()));
        recollection
    }

    /// A whole run without failures; returns what workers did.
    fn run(&self, todos: &[Todo]) -> Vec<String> {
        let mut recollection = self.begin(todos);
        let mut worked = Vec::new();
        for todo in todos {
            if let CacheLookup::Miss(_) = recollection.lookup(todo, |_| false) {
                worked.push(todo.id.0.clone());
                recollection.store(todo, "done", None, Timestamp(1));
            }
        }
        recollection.finish(Ok(self.snapshot()), WorkLocation::InWorkspace, Timestamp(2));
        worked
    }

    fn why(&self, todos: &[Todo], id: &str) -> String {
        match self.begin(todos).predict(todos, |_| false).remove(&id.into()).unwrap() {
            CacheLookup::Hit { .. } => "reused".into(),
            CacheLookup::Miss(why) => why.to_string(),
        }
    }
}

#[test]
fn what_counts_is_what_the_work_is_made_of() {
    let ground = CacheTestFolder::new();
    let whole = ground.state(&[]);
    for (path, text) in [("target/out", "other"), (".git/HEAD", "other"), ("plan.yaml", "other"), ("home/x", "new")] {
        ground.write(path, text);
        assert_eq!(ground.state(&[]), whole, "{path}");
    }
    let mut known = vec![whole];
    let mut differs = |what: &str| {
        let state = ground.state(&[]);
        assert!(!known.contains(&state), "{what}");
        known.push(state);
    };
    ground.write(".github/ci.yml", "on: pull");
    differs("a hidden file");
    ground.write("src/new", "");
    differs("a new file");
    fs::set_permissions(ground.path("src/new"), fs::Permissions::from_mode(0o755)).unwrap();
    differs("a file that can be run");
    fs::remove_file(ground.path("src/new")).unwrap();
    symlink("a.rs", ground.path("src/new")).unwrap();
    differs("a link");
    fs::remove_file(ground.path("src/new")).unwrap();
    symlink("/etc/passwd", ground.path("src/new")).unwrap();
    differs("a link to elsewhere");
    fs::rename(ground.path("src/a.rs"), ground.path("src/b.rs")).unwrap();
    differs("another name");
}

#[test]
fn patterns_name_files_and_folders() {
    let ground = CacheTestFolder::new();
    let touched = |pattern: &str, path: &str| {
        let before = ground.state(&[pattern]);
        let text = fs::read_to_string(ground.path(path)).unwrap();
        ground.write(path, &format!("{text}!"));
        ground.state(&[pattern]) != before
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
        assert_eq!(touched(pattern, path), expected, "{pattern} {path}");
    }
    for wrong in ["", "/etc", "../x", "a/../../b", "a[", "{a"] {
        assert!(FilePatterns::read(&[wrong.to_owned()]).is_err(), "{wrong}");
    }
    assert!(FilePatterns::read(&["{".repeat(501)]).is_err());
}

#[test]
fn what_cannot_be_read_and_what_never_ends_counts_as_itself() {
    let ground = CacheTestFolder::new();
    let before = ground.state(&[]);
    let fifo = ground.path("src/fifo");
    let _socket = std::os::unix::net::UnixListener::bind(&fifo).unwrap();
    let with = ground.state(&[]);
    assert_ne!(with, before);
    assert_eq!(ground.state(&[]), with);
    assert_eq!(ground.state(&["src/a.rs"]).len(), 32);
}

#[test]
fn an_edit_runs_again_what_declared_it_and_what_declared_nothing() {
    let ground = CacheTestFolder::new();
    let todos = [
        todo("lexer", &[], &["src/lexer"]),
        todo("all", &[], &[]),
        todo("rest", &[], &["src/*.rs", "docs"]),
        todo("after", &["lexer"], &["docs"]),
    ];
    assert_eq!(ground.run(&todos), ["lexer", "all", "rest", "after"]);
    assert!(ground.run(&todos).is_empty());
    ground.write("notes.txt", "of a person");
    assert_eq!(ground.why(&todos, "all"), "files changed, and it declares no files");
    assert_eq!(ground.run(&todos), ["all"]);
    ground.write("src/lexer/mod.rs", "edited");
    ground.write("docs/x", "edited");
    assert_eq!(ground.why(&todos, "rest"), "files changed: docs");
    assert_eq!(ground.why(&todos, "after"), "lexer runs again");
    assert_eq!(ground.run(&todos), ["lexer", "all", "rest", "after"]);
    assert!(ground.run(&todos).is_empty());
    let renamed = todos.clone().map(|todo| Todo { title: format!("{}, please", todo.title), ..todo });
    assert_eq!(ground.why(&renamed, "rest"), "definition changed");
    let other = [todo("other", &[], &["docs"])];
    assert_eq!(ground.why(&other, "other"), "never done");
}

#[test]
fn a_run_without_an_end_and_one_that_is_opened_again_are_done_again() {
    let ground = CacheTestFolder::new();
    let todos = [todo("a", &[], &["src"]), todo("b", &[], &["src"])];
    ground.begin(&todos).store(&todos[0], "done", None, Timestamp(1));
    assert_eq!(ground.why(&todos, "a"), "the run that did it was interrupted");
    assert_eq!(ground.run(&todos), ["a", "b"]);
    let mut again = ground.begin(&todos);
    let reused = CacheLookup::Hit { result: "done".into(), work: None };
    assert_eq!(again.lookup(&todos[0], |_| false), reused);
    assert_eq!(again.lookup(&todos[0], |_| false), CacheLookup::Miss(CacheMissReason::Reopened));
    again.finish(Ok(ground.snapshot()), WorkLocation::InWorkspace, Timestamp(3));
    assert_eq!(ground.why(&todos, "a"), "never done");
    assert_eq!(ground.why(&todos, "b"), "reused");
}

#[test]
fn a_new_owner_tells_again_what_was_done_before_it_came() {
    let ground = CacheTestFolder::new();
    let todos = [todo("a", &[], &["src"]), todo("b", &["a"], &["docs"])];
    ground.begin(&todos).store(&todos[0], "done", Some("c0ffee"), Timestamp(1));
    ground.write("src/a.rs", "changed meanwhile");
    let mut second = ground.begin(&todos);
    second.store(&todos[0], "done", Some("c0ffee"), Timestamp(2));
    assert_eq!(second.lookup(&todos[1], |_| false), CacheLookup::Miss(CacheMissReason::NeverDone));
    second.store(&todos[1], "done", None, Timestamp(2));
    second.finish(Ok(ground.snapshot()), WorkLocation::InCommits, Timestamp(3));
    assert_eq!(ground.why(&todos, "a"), "files changed: src");
    ground.write("src/a.rs", "a");
    let merged = CacheLookup::Hit { result: "done".into(), work: Some("c0ffee".into()) };
    assert_eq!(ground.begin(&todos).lookup(&todos[0], |_| true), merged);
}

#[test]
fn what_is_told_before_what_it_depends_on_is_kept_too() {
    let ground = CacheTestFolder::new();
    let todos = [todo("a", &[], &[]), todo("b", &["a"], &[]), todo("c", &["a", "b"], &[]), todo("d", &["gone"], &[])];
    let mut told = ground.begin(&todos);
    todos.iter().rev().for_each(|todo| told.store(todo, "done", None, Timestamp(1)));
    told.finish(Ok(ground.snapshot()), WorkLocation::InWorkspace, Timestamp(2));
    assert_eq!(
        ["a", "b", "c", "d"].map(|id| ground.why(&todos, id)),
        ["reused", "reused", "reused", "gone runs again"]
    );
}

#[test]
fn work_in_a_commit_is_merged_again_while_it_is_there() {
    let ground = CacheTestFolder::new();
    let todos = [todo("a", &[], &["src"])];
    let mut first = ground.begin(&todos);
    first.store(&todos[0], "done", Some("c0ffee"), Timestamp(1));
    first.finish(Ok(ground.snapshot()), WorkLocation::InCommits, Timestamp(2));
    let recalled = |there: bool| ground.begin(&todos).lookup(&todos[0], |_| there);
    let reused = |work: Option<&str>| CacheLookup::Hit { result: "done".into(), work: work.map(str::to_owned) };
    assert_eq!(recalled(true), reused(Some("c0ffee")));
    assert_eq!(recalled(false), CacheLookup::Miss(CacheMissReason::CommitGone));
    let mut merged = ground.begin(&todos);
    merged.lookup(&todos[0], |_| true);
    ground.write("src/a.rs", "merged");
    merged.finish(Ok(ground.snapshot()), WorkLocation::InWorkspace, Timestamp(3));
    assert_eq!(recalled(false), reused(None));
    ground.write("src/a.rs", "edited");
    assert_eq!(recalled(true), CacheLookup::Miss(CacheMissReason::FilesChanged(vec!["src".into()])));
    ground.write("src/a.rs", "a");
    assert_eq!(recalled(true), reused(Some("c0ffee")));
}

#[test]
fn a_workspace_that_is_not_there_has_no_files() {
    assert_eq!(
        TreeSnapshot::capture(Path::new("/no/such/place"), Vec::new()).unwrap().state(&FilePatterns::default()).len(),
        32
    );
}
