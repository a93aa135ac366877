//! A landing that was broken off is finished by the next, whichever step it had come to.

use git::{BaseCommit, Commit, LandError, LandOutcome, LandRequest};

use super::branches::{Edit, branch, write};
use super::head;
use crate::stage::Stage;

const MARK: &str = "refs/bosun/test/landing";

/// What had happened before it was broken off.
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
    stage.git.done(&["add", "-A"], &[]).await.unwrap();
    stage.git.done(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
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
    git.done(&["update-ref", MARK, tip.as_str()], &[]).await.unwrap();
    if matches!(step, Step::SomeFiles | Step::AllFiles) {
        stage.write("changes.txt", "new\n");
        stage.write("comes.txt", "new\n");
    }
    if step == Step::AllFiles {
        stage.write("a.txt", "new\n");
        std::fs::remove_file(git.folder().join("goes.txt")).unwrap();
    }
    if matches!(step, Step::Index | Step::Branch) {
        git.done(&["read-tree", "-m", "-u", base_commit.head.as_str(), tip.as_str()], &[]).await.unwrap();
    }
    if step == Step::Branch {
        git.done(&["update-ref", "HEAD", tip.as_str()], &[]).await.unwrap();
    }
}

#[tokio::test]
async fn a_landing_that_was_broken_off_is_finished() {
    for step in [Step::Marked, Step::SomeFiles, Step::AllFiles, Step::Index, Step::Branch] {
        let stage = Stage::new().await;
        let (base_commit, tip) = begun(&stage).await;
        stage.write("notes", "mine\n");
        break_off(&stage, step, &base_commit, &tip).await;
        let scratch = super::scratch(&stage, &base_commit.head).await;
        let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark: MARK };
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
async fn a_file_that_somebody_changed_since_is_not_overwritten() {
    for name in ["a.txt", "comes.txt"] {
        let stage = Stage::new().await;
        let (base_commit, tip) = begun(&stage).await;
        break_off(&stage, Step::SomeFiles, &base_commit, &tip).await;
        stage.write(name, "mine\n");
        let scratch = super::scratch(&stage, &base_commit.head).await;
        let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark: MARK };
        let torn = LandError::Torn { tip: tip.clone(), files: vec![name.into()] };
        assert_eq!(landing.land(&stage.git).await, Err(torn));
        assert_eq!(std::fs::read_to_string(stage.git.folder().join(name)).unwrap(), "mine\n");
        assert_eq!(head(&stage).await, base_commit.head);
    }
}

/// A folder as a landing leaves it that was killed by this process, or by one of an earlier boot.
fn folder(stage: &Stage, n: usize, owner: &str, taken: &str) -> std::path::PathBuf {
    let folder = stage.git.folder().join(format!(".git/bosun-landing-{n}"));
    std::fs::create_dir_all(folder.join("old/deep")).unwrap();
    std::fs::write(folder.join("owner"), owner).unwrap();
    std::fs::write(folder.join("old/deep/file"), taken).unwrap();
    folder
}

/// A landing's owner that is gone, and one that lives, as they are written down.
fn owners() -> (&'static str, String) {
    let host::ProcessIdentity { boot, pid, started } = host::ProcessIdentity::current().unwrap();
    let alive = format!(r#"{{"boot":"{boot}","pid":{pid},"started":{started}}}"#);
    (r#"{"boot":"an earlier boot","pid":1,"started":1}"#, alive)
}

#[tokio::test]
async fn the_next_landing_clears_what_a_killed_one_left_unless_a_file_is_nowhere_else() {
    let stage = Stage::new().await;
    let (base_commit, tip) = begun(&stage).await;
    let (dead, alive) = owners();
    let committed = folder(&stage, 1, dead, "old\n");
    let saved = folder(&stage, 2, dead, "saved at the last moment\n");
    let used = folder(&stage, 3, &alive, "old\n");
    let scratch = super::scratch(&stage, &base_commit.head).await;
    let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark: MARK };
    landing.land(&stage.git).await.unwrap();
    assert!(!committed.exists(), "everything in it is committed");
    assert_eq!(std::fs::read_to_string(saved.join("old/deep/file")).unwrap(), "saved at the last moment\n");
    assert!(used.join("old/deep/file").exists(), "its owner lives");
    let repository = git::Repository::find(&stage.git).await.unwrap();
    assert_eq!(git::clear_landings(&repository).await.unwrap(), 0);
}

/// The moment between taking the lock of the index and putting the index in its place.
#[tokio::test]
async fn the_lock_of_the_index_that_a_killed_landing_left_is_removed_and_nobody_else_s() {
    let stage = Stage::new().await;
    let (base_commit, tip) = begun(&stage).await;
    let (dead, alive) = owners();
    let lock = stage.git.folder().join(".git/index.lock");
    let scratch = super::scratch(&stage, &base_commit.head).await;
    let landing = LandRequest { base_commit: &base_commit, tip: &tip, scratch: &scratch, mark: MARK };
    // That of a git command, whose content happens to be the same; and that of a landing under way.
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
    // The same after its process was killed: whoever takes its session over removes it, or the next landing does.
    std::fs::write(used.join("owner"), dead).unwrap();
    assert_eq!((git::clear_ref_locks(&stage.git, stage.session).await.unwrap(), lock.exists()), (1, false));
    std::fs::hard_link(used.join("index.put"), &lock).unwrap();
    landing.land(&stage.git).await.unwrap();
    assert_eq!(head(&stage).await, tip);
    assert!(!lock.exists(), "the lock is gone");
    assert_eq!(stage.git.text(&["status", "--porcelain", "--untracked-files=no"]).await.unwrap(), "");
}
