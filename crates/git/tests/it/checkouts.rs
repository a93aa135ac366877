//! Creating checkouts: where it works, and where it must be refused.

use std::fs;
use std::os::unix::fs::symlink;

use git::{Checkout, CheckoutRequest, GitError, Repository};

use crate::stage::Stage;

#[tokio::test]
async fn checkout_shares_only_objects() {
    let stage = Stage::new().await;
    let before = stage.belongings().await;
    let checkout = stage.checkout("fix it").await;
    let git = stage.git.in_folder(checkout.path());
    assert_eq!(fs::read_to_string(checkout.path().join("a.txt")).unwrap(), "one\n");
    assert_eq!(git.text(&["symbolic-ref", "HEAD"]).await.unwrap(), "refs/heads/bosun/fix-it");
    assert_eq!(git.text(&["remote"]).await.unwrap(), "");
    assert_eq!(git.text(&["config", "user.name"]).await.unwrap(), "someone");
    assert!(!checkout.path().join(".git/hooks").exists());
    assert_eq!(git.text(&["count-objects"]).await.unwrap(), "0 objects, 0 kilobytes");
    let pinned = stage.git.text(&["rev-parse", &checkout.id().base_ref()]).await.unwrap();
    assert_eq!(pinned, checkout.base().as_str());
    assert_eq!(stage.belongings().await, before);
}

#[tokio::test]
async fn folder_without_a_repository_or_commit_is_refused_with_a_remedy() {
    let stage = Stage::new().await;
    let at = |name: &str| stage.path().join(name);
    fs::create_dir(at("plain")).unwrap();
    let found = Repository::find(&stage.git.in_folder(at("plain"))).await;
    assert!(matches!(&found, Err(error @ GitError::NoRepository(_)) if error.to_string().contains("git init")));
    let found = Repository::find(&stage.git.in_folder(at("missing"))).await;
    assert!(matches!(found, Err(GitError::NoRepository(_))));
    stage.git.run_checked(&["init", "-q", "--bare", "../bare"], &[]).await.unwrap();
    assert!(matches!(Repository::find(&stage.git.in_folder(at("bare"))).await, Err(GitError::Bare(_))));
    assert!(matches!(Repository::find(&stage.git.in_folder(at("repo/.git"))).await, Err(GitError::Bare(_))));
    stage.git.run_checked(&["init", "-q", "../unborn"], &[]).await.unwrap();
    let unborn = Repository::find(&stage.git.in_folder(at("unborn"))).await.unwrap().head().await;
    assert!(matches!(&unborn, Err(error) if error.to_string().contains("commit something first")), "{unborn:?}");
    let repository = Repository::find(&stage.git).await.unwrap();
    for name in ["nothing", "--all", "", "HEAD:a.txt"] {
        assert!(matches!(repository.commit(name).await, Err(GitError::NoCommit { .. })), "{name}");
    }
}

#[tokio::test]
async fn subfolders_linked_worktrees_and_a_detached_head_are_repositories() {
    let stage = Stage::new().await;
    fs::create_dir(stage.git.folder().join("sub")).unwrap();
    stage.git.run_checked(&["worktree", "add", "-q", "../linked", "-b", "side"], &[]).await.unwrap();
    stage.git.run_checked(&["checkout", "-q", "--detach"], &[]).await.unwrap();
    let sub = Repository::find(&stage.git.in_folder(stage.git.folder().join("sub"))).await.unwrap();
    assert_eq!((sub.below().to_str(), sub.top()), (Some("sub"), stage.git.folder().canonicalize().unwrap().as_path()));
    let linked = Repository::find(&stage.git.in_folder(stage.path().join("linked"))).await.unwrap();
    assert_eq!(linked.common(), sub.common());
    assert_ne!(linked.top(), sub.top());
    for repository in [sub, linked] {
        let (id, base) = (stage.id(), repository.head().await.unwrap());
        let root = stage.home.make_checkouts(id.session).unwrap();
        let made =
            Checkout::create(&repository, &root, CheckoutRequest { id, name: "x".into(), title: String::new(), base })
                .await
                .unwrap();
        made.verify_ours().await.unwrap();
    }
}

#[tokio::test]
async fn path_that_exists_or_leads_elsewhere_is_refused() {
    let stage = Stage::new().await;
    let (id, root) = (stage.id(), stage.home.make_checkouts(stage.session).unwrap());
    fs::create_dir(root.join(id.task.to_string())).unwrap();
    fs::write(root.join(id.task.to_string()).join("kept"), "kept").unwrap();
    assert!(matches!(stage.make(id, "x").await, Err(GitError::Taken(_))));
    assert!(root.join(id.task.to_string()).join("kept").exists());

    fs::create_dir(stage.path().join("elsewhere")).unwrap();
    fs::remove_dir_all(&root).unwrap();
    symlink(stage.path().join("elsewhere"), &root).unwrap();
    assert!(stage.home.make_checkouts(stage.session).is_err(), "a link in its way");
    let repository = Repository::find(&stage.git).await.unwrap();
    let base = repository.head().await.unwrap();
    let made =
        Checkout::create(&repository, &root, CheckoutRequest { id, name: "x".into(), title: String::new(), base })
            .await;
    assert!(matches!(made, Err(GitError::Unfit { .. })));
    assert_eq!(fs::read_dir(stage.path().join("elsewhere")).unwrap().count(), 0);
}

#[tokio::test]
async fn checkout_that_differs_from_its_commit_is_refused_and_removed() {
    let stage = Stage::new().await;
    // A filter of the user that changes committed files on checkout and has no inverse.
    fs::write(stage.path().join(".gitconfig"), "[filter \"odd\"]\n\tsmudge = echo more; cat\n\tclean = cat\n").unwrap();
    stage.write(".gitattributes", "a.txt filter=odd\n");
    stage.git.run_checked(&["add", ".gitattributes"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "odd"], &[]).await.unwrap();
    let made = stage.make(stage.id(), "x").await;
    assert!(matches!(&made, Err(GitError::Unfit { why, .. }) if why.contains("a.txt")), "{made:?}");
    let root = stage.home.make_checkouts(stage.session).unwrap();
    assert_eq!(fs::read_dir(root).unwrap().count(), 0);
}

#[tokio::test]
async fn missing_moved_or_replaced_checkout_is_not_opened() {
    let stage = Stage::new().await;
    let checkout = stage.checkout("x").await;
    let (id, path) = (checkout.id(), checkout.path().to_owned());
    let root = path.parent().unwrap().to_owned();
    let open = async || Checkout::open(&stage.git, &root, id).await.map(|_checkout| ());
    open().await.unwrap();
    fs::rename(path.join(".git"), path.join("git")).unwrap();
    assert!(matches!(open().await, Err(GitError::Unfit { .. })), "no repository above it is taken for it");
    fs::write(path.join(".git"), format!("gitdir: {}", stage.git.folder().join(".git").display())).unwrap();
    assert!(matches!(open().await, Err(GitError::Unfit { .. })), "nor the user's");
    fs::remove_file(path.join(".git")).unwrap();
    fs::rename(path.join("git"), path.join(".git")).unwrap();
    open().await.unwrap();
    fs::rename(&path, stage.path().join("away")).unwrap();
    assert!(matches!(open().await, Err(GitError::Unfit { why, .. }) if why.contains("gone")));
    symlink(stage.path().join("away"), &path).unwrap();
    assert!(matches!(open().await, Err(GitError::Unfit { .. })));
}

#[tokio::test]
async fn committing_uncommitted_work_changes_no_files() {
    let stage = Stage::new().await;
    stage.write("a.txt", "two\n");
    stage.write("new.txt", "new\n");
    stage.write("staged.txt", "staged\n");
    stage.write("ignored.log", "no\n");
    stage.write(".git/info/exclude", "*.log\n");
    stage.git.run_checked(&["add", "staged.txt"], &[]).await.unwrap();
    let (before, id) = (stage.belongings().await, stage.id());
    let repository = Repository::find(&stage.git).await.unwrap();
    let scratch = stage.path().join("index");
    let commit = repository.snapshot_dirty(&scratch, &id.dirty_ref()).await.unwrap();
    assert_eq!(stage.belongings().await, before);
    assert!(!scratch.exists());
    assert_eq!(stage.file(&commit, "a.txt").await.as_deref(), Some("two\n"));
    assert_eq!(stage.file(&commit, "new.txt").await.as_deref(), Some("new\n"));
    assert_eq!(stage.file(&commit, "staged.txt").await.as_deref(), Some("staged\n"));
    assert_eq!(stage.file(&commit, "ignored.log").await, None);
    let root = stage.home.make_checkouts(id.session).unwrap();
    let order = CheckoutRequest { id, name: "x".into(), title: String::new(), base: commit.clone() };
    let made = Checkout::create(&repository, &root, order).await.unwrap();
    assert_eq!(fs::read_to_string(made.path().join("new.txt")).unwrap(), "new\n");

    let clean = Stage::new().await;
    let repository = Repository::find(&clean.git).await.unwrap();
    let head = repository.head().await.unwrap();
    assert_eq!(repository.snapshot_dirty(&scratch, &id.dirty_ref()).await.unwrap(), head);
}
