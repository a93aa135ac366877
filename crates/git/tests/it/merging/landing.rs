//! The user's branch moves to the result, or stays with a reason.

use git::{BaseCommit, Commit, Git, LandError, LandOutcome, LandRequest, MergePart, ScratchCheckout};

use super::branches::{Edit, branch, write};
use super::{head, signature, tree};
use crate::stage::Stage;

const MARK: &str = "refs/bosun/test/landing";

struct Scene {
    stage: Stage,
    base_commit: BaseCommit,
    part: MergePart,
    scratch: ScratchCheckout,
}

impl Scene {
    async fn new() -> Scene {
        let stage = Stage::new().await;
        stage.write("b.txt", "b\n");
        stage.write("gone.txt", "x\n");
        stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
        stage.git.run_checked(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
        Scene::on(stage).await
    }

    async fn on(stage: Stage) -> Scene {
        let base_commit = BaseCommit::current(&stage.git).await.unwrap();
        let edits = vec![write("a.txt", "two\n"), write("new/file.txt", "n\n"), Edit::Remove("gone.txt".into())];
        let part = branch(&stage, &base_commit.base, "work", edits).await;
        let scratch = super::scratch(&stage, &base_commit.head).await;
        Scene { stage, base_commit, part, scratch }
    }

    async fn land(&self) -> Result<LandOutcome, LandError> {
        self.land_at(&self.part.commit).await
    }

    async fn land_at(&self, tip: &Commit) -> Result<LandOutcome, LandError> {
        let landing = LandRequest { base_commit: &self.base_commit, tip, scratch: &self.scratch, mark_ref: MARK };
        landing.land(self.git()).await
    }

    fn git(&self) -> &Git {
        &self.stage.git
    }

    async fn status(&self) -> String {
        self.git().text(&["status", "--porcelain"]).await.unwrap()
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.git().folder().join(name)).ok()
    }

    async fn has_mark(&self) -> bool {
        self.git().run(&["rev-parse", "-q", "--verify", MARK], &[]).await.unwrap().code == 0
    }

    async fn refuses(&self) -> LandError {
        let before = self.stage.belongings().await;
        let error = self.land().await.unwrap_err();
        assert!(self.stage.belongings().await == before, "a landing that is refused changes nothing: {error}");
        assert!(!self.has_mark().await);
        error
    }
}

#[tokio::test]
async fn branch_index_and_work_tree_move_together() {
    let scene = Scene::new().await;
    scene.stage.write("notes", "not known to git\n");
    let from = scene.base_commit.head.clone();
    assert_eq!(scene.land().await, Ok(LandOutcome::Moved { from: from.clone() }));
    assert_eq!(head(&scene.stage).await, scene.part.commit);
    assert_eq!(scene.git().text(&["symbolic-ref", "HEAD"]).await.unwrap(), "refs/heads/main");
    assert_eq!(scene.status().await, "?? notes");
    assert_eq!((scene.read("a.txt").as_deref(), scene.read("gone.txt")), (Some("two\n"), None));
    assert_eq!(super::named(scene.git(), "ORIG_HEAD").await, from);
    assert!(!scene.has_mark().await);
    assert_eq!(scene.land().await, Ok(LandOutcome::AlreadyContained));
}

#[tokio::test]
async fn branch_does_not_move_if_the_user_changed_something_meanwhile() {
    let scene = Scene::new().await;
    scene.stage.write("b.txt", "changed\n");
    assert_eq!(scene.refuses().await, LandError::Unclean(vec!["b.txt".into()]));
    scene.git().run_checked(&["add", "-A"], &[]).await.unwrap();
    assert_eq!(scene.refuses().await, LandError::Unclean(vec!["b.txt".into()]));
    scene.git().run_checked(&["reset", "-q", "--hard"], &[]).await.unwrap();

    std::fs::create_dir(scene.git().folder().join("new")).unwrap();
    scene.stage.write("new/file.txt", "mine\n");
    let words = scene.refuses().await.to_string();
    assert!(words.contains("new/file.txt") && words.contains("in the way"), "{words}");
    std::fs::remove_dir_all(scene.git().folder().join("new")).unwrap();

    scene.git().run_checked(&["checkout", "-q", "-b", "other"], &[]).await.unwrap();
    assert_eq!(scene.refuses().await, LandError::HeadMoved { was: "main".into(), is: "other".into() });
    scene.git().run_checked(&["checkout", "-q", "--detach"], &[]).await.unwrap();
    assert!(matches!(scene.refuses().await, LandError::HeadMoved { .. }));
    scene.git().run_checked(&["checkout", "-q", "main"], &[]).await.unwrap();

    std::fs::write(scene.git().folder().join(".git/MERGE_HEAD"), format!("{}\n", scene.part.commit)).unwrap();
    assert_eq!(scene.refuses().await, LandError::Busy("a merge"));
    std::fs::remove_file(scene.git().folder().join(".git/MERGE_HEAD")).unwrap();

    scene.git().run_checked(&["commit", "-q", "--allow-empty", "-m", "meanwhile"], &[]).await.unwrap();
    let at = head(&scene.stage).await;
    assert_eq!(scene.refuses().await, LandError::Diverged { branch: "main".into(), at });
    // A file with the same content as in the result is not an obstacle.
    scene.git().run_checked(&["reset", "-q", "--hard", scene.base_commit.head.as_str()], &[]).await.unwrap();
    let next = branch(&scene.stage, &scene.part.commit, "next", vec![write("c.txt", "c\n")]).await;
    scene.land().await.unwrap();
    assert_eq!(scene.land_at(&next.commit).await, Ok(LandOutcome::Moved { from: scene.part.commit.clone() }));
}

#[tokio::test]
async fn unchanged_detached_head_is_moved() {
    let stage = Stage::new().await;
    stage.git.run_checked(&["checkout", "-q", "--detach"], &[]).await.unwrap();
    let scene = Scene::on(stage).await;
    assert_eq!(scene.base_commit.branch, None);
    scene.land().await.unwrap();
    assert_eq!(head(&scene.stage).await, scene.part.commit);
    assert_eq!(super::named(scene.git(), "main").await, scene.base_commit.head);
}

#[tokio::test]
async fn base_commit_is_kept_once() {
    let stage = Stage::new().await;
    let below = "refs/bosun/test";
    assert_eq!(BaseCommit::load(&stage.git, below).await.unwrap(), None);
    stage.git.run_checked(&["checkout", "-q", "-b", "some/branch"], &[]).await.unwrap();
    let base_commit = BaseCommit::current(&stage.git).await.unwrap();
    let work = branch(&stage, &base_commit.head, "snapshot", vec![write("a.txt", "dirty\n")]).await;
    let base_commit = base_commit.with_snapshot(work.commit);
    base_commit.store(&stage.git, below).await.unwrap();
    assert_eq!(BaseCommit::load(&stage.git, below).await.unwrap(), Some(base_commit.clone()));
    assert!(base_commit.store(&stage.git, below).await.is_err(), "what is kept stays");
    stage.git.run_checked(&["checkout", "-q", "--detach"], &[]).await.unwrap();
    let detached = BaseCommit::current(&stage.git).await.unwrap();
    detached.store(&stage.git, "refs/bosun/other").await.unwrap();
    assert_eq!(BaseCommit::load(&stage.git, "refs/bosun/other").await.unwrap(), Some(detached));
}

/// A stage with uncommitted work, and a base commit that contains it.
async fn dirty() -> Scene {
    let stage = Stage::new().await;
    stage.write("b.txt", "b\n");
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
    stage.write("b.txt", "not committed\n");
    stage.write("untracked.txt", "u\n");
    let base_commit = BaseCommit::current(&stage.git).await.unwrap();
    let edits = vec![write("b.txt", "not committed\n"), write("untracked.txt", "u\n")];
    let snapshot = branch(&stage, &base_commit.head, "snapshot", edits).await;
    let base_commit = base_commit.with_snapshot(snapshot.commit);
    let part = branch(&stage, &base_commit.base, "work", vec![write("a.txt", "two\n")]).await;
    let scratch = super::scratch(&stage, &base_commit.head).await;
    Scene { stage, base_commit, part, scratch }
}

#[tokio::test]
async fn uncommitted_work_stays_uncommitted() {
    let scene = dirty().await;
    let lifted = scene
        .base_commit
        .rebase_onto_head(scene.git(), &scene.part.commit, "Write a", &signature())
        .await
        .unwrap()
        .unwrap();
    let parents = scene.git().text(&["log", "-1", "--format=%P", lifted.as_str()]).await.unwrap();
    assert_eq!(parents, scene.base_commit.head.as_str());
    scene.land_at(&lifted).await.unwrap();
    assert_eq!(head(&scene.stage).await, lifted);
    assert_eq!(scene.read("a.txt").as_deref(), Some("two\n"));
    assert_eq!(scene.status().await, " M b.txt\n?? untracked.txt");
    assert_eq!(scene.read("b.txt").as_deref(), Some("not committed\n"));
    let history = scene.git().text(&["rev-list", "HEAD"]).await.unwrap();
    assert!(!history.contains(scene.base_commit.base.as_str()));
}

#[tokio::test]
async fn changed_or_overlapping_uncommitted_work_prevents_landing() {
    let scene = dirty().await;
    let lifted = scene
        .base_commit
        .rebase_onto_head(scene.git(), &scene.part.commit, "Write a", &signature())
        .await
        .unwrap()
        .unwrap();
    let before = tree(scene.git(), &head(&scene.stage).await).await;
    scene.stage.write("untracked.txt", "changed\n");
    assert_eq!(scene.land_at(&lifted).await, Err(LandError::Changed));
    scene.stage.write("untracked.txt", "u\n");
    assert_eq!(tree(scene.git(), &head(&scene.stage).await).await, before);

    let mixed = branch(&scene.stage, &scene.base_commit.base, "mixed", vec![write("b.txt", "mixed\n")]).await;
    assert_eq!(
        scene.base_commit.rebase_onto_head(scene.git(), &mixed.commit, "Write a", &signature()).await.unwrap(),
        None
    );
    assert_eq!(scene.status().await, " M b.txt\n?? untracked.txt");
}

#[tokio::test]
async fn session_refs_are_classified_by_whether_a_branch_contains_them() {
    let stage = Stage::new().await;
    let ids = [1_u128, 2].map(|n| protocol::SessionId::new(uuid::Uuid::from_u128((0x7 << 76) | n)));
    let on_branch = head(&stage).await;
    let only = branch(&stage, &on_branch, "work", vec![write("a.txt", "two\n")]).await.commit;
    stage.git.run_checked(&["update-ref", "-d", "refs/bosun/test/work/work"], &[]).await.unwrap();
    for (session, kind, commit) in [(ids[0], "base", &on_branch), (ids[0], "work", &only), (ids[1], "work", &on_branch)]
    {
        let name = format!("refs/bosun/{session}/{kind}/x");
        stage.git.run_checked(&["update-ref", &name, commit.as_str()], &[]).await.unwrap();
    }
    let pins = git::Pins::read(&stage.git).await.unwrap();
    assert_eq!(pins.landed.keys().collect::<Vec<_>>(), [&ids[0], &ids[1]]);
    assert_eq!(pins.not_landed.values().flatten().map(|pin| &pin.commit).collect::<Vec<_>>(), [&only]);
    git::Pins::remove(&stage.git, pins.landed.values().flatten()).await.unwrap();
    let left = git::Pins::read(&stage.git).await.unwrap();
    assert_eq!(left, git::Pins { landed: std::collections::BTreeMap::new(), not_landed: pins.not_landed });
}

#[tokio::test]
async fn uncommitted_files_include_changed_staged_and_new_ones() {
    let stage = Stage::new().await;
    let repository = git::Repository::find(&stage.git).await.unwrap();
    assert_eq!(repository.uncommitted().await.unwrap(), Vec::<String>::new());
    stage.write("a.txt", "changed\n");
    stage.write("new name.txt", "n\n");
    stage.write(".gitignore", "*.log\n");
    stage.write("x.log", "ignored\n");
    stage.git.run_checked(&["add", ".gitignore"], &[]).await.unwrap();
    let mut found = repository.uncommitted().await.unwrap();
    found.sort();
    assert_eq!(found, [".gitignore", "a.txt", "new name.txt"]);
}
