//! The next landing finishes an interrupted one, at whichever step it stopped.

use git::{BaseCommit, Commit, LandError, LandOutcome, LandRequest};

use super::branches::{Edit, branch, write};
use super::head;
use crate::stage::Stage;

const MARK: &str = "refs/bosun/test/landing";

/// The steps that the landing had completed before it was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Marked,
    SomeFiles,
    AllFiles,
    Index,
    Branch,
}

async fn begun(stage: &Stage) -> (BaseCommit, Commit) {
    for (name, text) in [("changes.txt", "old\n"), ("goes.txt", "old\n"), ("stays.txt", "old\n")] {
        stage.write(name, text);
    }
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
    let base_commit = BaseCommit::current(&stage.git).await.unwrap();
    let edits = vec![
        write("a.txt", "new\n"),
        write("changes.txt", "new\n"),
        write("comes.txt", "new\n"),
        Edit::Remove("goes.txt".into()),
    ];
    let part = branch(stage, &base_commit.base, "work", edits).await;
    (base_commit, part.commit)
}

async fn break_off(stage: &Stage, step: Step, base_commit: &BaseCommit, tip: &Commit) {
    let git = &stage.git;
    git.run_checked(&["update-ref", MARK, tip.as_str()], &[]).await.unwrap();
    if matches!(step, Step::SomeFiles | Step::AllFiles) {
        stage.write("changes.txt", "new\n");
        stage.write("comes.txt", "new\n");
    }
    if step == Step::AllFiles {
        stage.write("a.txt", "new\n");
        std::fs::remove_file(git.folder().join("goes.txt")).unwrap();
    }
    if matches!(step, Step::Index | Step::Branch) {
        git.run_checked(&["read-tree", "-m", "-u", base_commit.head.as_str(), tip.as_str()], &[]).await.unwrap();
    }
    if step == Step::Branch {
        git.run_checked(&["update-ref", "HEAD", tip.as_str()], &[]).await.unwrap();
    }
}

#[tokio::test]
async fn interrupted_landing_is_finished() {
    for step in [Step::Marked, Step::SomeFiles, Step::AllFiles, Step::Index, Step::Branch] {
        let stage = Stage::new().await;
        let (base_commit, tip) = begun(&stage).await;
        stage.write("notes", "mine\n");
        break_off(&stage, step, &base_commit, &tip).await;
        let scratch = super::scratch(&stage, &base_commit.head).await;
        let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark_ref: MARK };
        let expected = if step == Step::Branch {
            LandOutcome::AlreadyContained
        } else {
            LandOutcome::Moved { from: base_commit.head.clone() }
        };
        assert_eq!(landing.land(&stage.git).await, Ok(expected), "{step:?}");
        assert_eq!(head(&stage).await, tip);
        assert_eq!(stage.git.text(&["status", "--porcelain"]).await.unwrap(), "?? notes", "{step:?}");
        assert_eq!(stage.git.run(&["rev-parse", "-q", "--verify", MARK], &[]).await.unwrap().code, 1);
    }
}

#[tokio::test]
async fn file_changed_after_an_interrupted_landing_is_not_overwritten() {
    for name in ["a.txt", "comes.txt"] {
        let stage = Stage::new().await;
        let (base_commit, tip) = begun(&stage).await;
        break_off(&stage, Step::SomeFiles, &base_commit, &tip).await;
        stage.write(name, "mine\n");
        let scratch = super::scratch(&stage, &base_commit.head).await;
        let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark_ref: MARK };
        let torn = LandError::Interrupted { tip: tip.clone(), files: vec![name.into()] };
        assert_eq!(landing.land(&stage.git).await, Err(torn));
        assert_eq!(std::fs::read_to_string(stage.git.folder().join(name)).unwrap(), "mine\n");
        assert_eq!(head(&stage).await, base_commit.head);
    }
}

/// The folder that a killed landing leaves, of this process or of one from an earlier boot.
fn folder(stage: &Stage, n: usize, owner: &str, taken: &str) -> std::path::PathBuf {
    let folder = stage.git.folder().join(format!(".git/bosun-landing-{n}"));
    std::fs::create_dir_all(folder.join("old/deep")).unwrap();
    std::fs::write(folder.join("owner"), owner).unwrap();
    std::fs::write(folder.join("old/deep/file"), taken).unwrap();
    folder
}

/// The recorded owners of a landing: one that is gone, and one that is alive.
fn owners() -> (&'static str, String) {
    let host::ProcessIdentity { boot, pid, start_ticks: started } = host::ProcessIdentity::current().unwrap();
    let alive = format!(r#"{{"boot":"{boot}","pid":{pid},"started":{started}}}"#);
    (r#"{"boot":"an earlier boot","pid":1,"started":1}"#, alive)
}

#[tokio::test]
async fn next_landing_removes_leftovers_except_unique_files() {
    let stage = Stage::new().await;
    let (base_commit, tip) = begun(&stage).await;
    let (dead, alive) = owners();
    let committed = folder(&stage, 1, dead, "old\n");
    let saved = folder(&stage, 2, dead, "saved at the last moment\n");
    let used = folder(&stage, 3, &alive, "old\n");
    let scratch = super::scratch(&stage, &base_commit.head).await;
    let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark_ref: MARK };
    landing.land(&stage.git).await.unwrap();
    assert!(!committed.exists(), "everything in it is committed");
    assert_eq!(std::fs::read_to_string(saved.join("old/deep/file")).unwrap(), "saved at the last moment\n");
    assert!(used.join("old/deep/file").exists(), "its owner lives");
    let repository = git::Repository::find(&stage.git).await.unwrap();
    assert_eq!(git::clear_landings(&repository).await.unwrap(), 0);
}

/// The moment between taking the lock of the index and putting the index in its place.
#[tokio::test]
async fn only_the_index_lock_of_a_killed_landing_is_removed() {
    let stage = Stage::new().await;
    let (base_commit, tip) = begun(&stage).await;
    let (dead, alive) = owners();
    let lock = stage.git.folder().join(".git/index.lock");
    let scratch = super::scratch(&stage, &base_commit.head).await;
    let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark_ref: MARK };
    // The lock of a git command that has the same content by chance, and the lock of a running landing.
    let left = folder(&stage, 1, dead, "old\n");
    std::fs::write(left.join("index.put"), "an index").unwrap();
    std::fs::write(&lock, "an index").unwrap();
    assert!(landing.land(&stage.git).await.is_err());
    assert!(lock.exists() && head(&stage).await == base_commit.head);
    let used = folder(&stage, 2, &alive, "old\n");
    std::fs::remove_file(&lock).unwrap();
    std::fs::write(used.join("index.put"), "an index").unwrap();
    std::fs::hard_link(used.join("index.put"), &lock).unwrap();
    assert!(landing.land(&stage.git).await.is_err());
    assert_eq!((git::clear_ref_locks(&stage.git, stage.session).await.unwrap(), lock.exists()), (0, true));
    // The same after its process was killed: the next owner of its session, or the next landing, removes the lock.
    std::fs::write(used.join("owner"), dead).unwrap();
    assert_eq!((git::clear_ref_locks(&stage.git, stage.session).await.unwrap(), lock.exists()), (1, false));
    std::fs::hard_link(used.join("index.put"), &lock).unwrap();
    landing.land(&stage.git).await.unwrap();
    assert_eq!(head(&stage).await, tip);
    assert!(!lock.exists(), "the lock is gone");
    assert_eq!(stage.git.text(&["status", "--porcelain", "--untracked-files=no"]).await.unwrap(), "");
}
