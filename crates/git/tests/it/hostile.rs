//! Hostile agents: Bosun must not run files that they write, nor follow them outside the checkout.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use git::{Checkout, CheckoutRequest, GitError, Repository, ScratchCheckout};

use crate::stage::Stage;

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn missing_commits_are_not_fetched_with_programs_of_the_agent() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    let fetcher = stage.path().join("fetcher");
    script(&fetcher, &format!("touch {}", stage.path().join("ran").display()));
    let (url, evil) = (stage.git.folder().display(), fetcher.display());
    for setting in [
        "core.repositoryFormatVersion 1".into(),
        "extensions.partialClone evil".into(),
        "remote.evil.promisor true".into(),
        format!("remote.evil.url {url}"),
        format!("remote.evil.uploadpack {evil}"),
    ] {
        stage.run(&checkout, &[&format!("config {setting}")]).await;
    }
    fs::write(checkout.path().join(".git/HEAD"), format!("{}\n", "1".repeat(40))).unwrap();
    fs::write(checkout.path().join("b.txt"), "made\n").unwrap();
    let _whatever = Checkout::open(&stage.git, checkout.path().parent().unwrap(), checkout.id()).await;
    let sealed = checkout.seal().await;
    assert!(!stage.path().join("ran").exists(), "{sealed:?}");
}

#[tokio::test]
async fn filters_do_not_run_programs_of_the_agent() {
    let stage = Stage::new().await;
    let ran = stage.path().join("ran");
    script(&stage.git.folder().join("filter"), "cat");
    for args in [
        &["config", "filter.own.clean", "./filter"][..],
        &["config", "filter.own.smudge", "./filter"],
        &["add", "-A"],
        &["commit", "-q", "-m", "filter"],
    ] {
        stage.git.run_checked(args, &[]).await.unwrap();
    }
    let mut checkout = stage.checkout("x").await;
    script(&checkout.path().join("filter"), &format!("touch {}; cat", ran.display()));
    fs::write(checkout.path().join(".gitattributes"), "*.txt filter=own\n").unwrap();
    fs::write(checkout.path().join("b.txt"), "made\n").unwrap();
    // Any command that writes the index reads files again that are newer than it.
    let file = fs::File::options().write(true).open(checkout.path().join("b.txt")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000)).unwrap();
    let sealed = checkout.seal().await.unwrap();
    assert!(!ran.exists(), "by sealing");
    let (repository, root) = (Repository::find(&stage.git).await.unwrap(), checkout.path().parent().unwrap());
    let order =
        CheckoutRequest { id: stage.id(), name: "look".into(), title: String::new(), base: checkout.base().clone() };
    let scratch = ScratchCheckout::create(&repository, root, order).await.unwrap();
    scratch.check_out(&sealed.commit).await.unwrap();
    assert_eq!(fs::read_to_string(scratch.folder().join("b.txt")).unwrap(), "made\n");
    assert!(!ran.exists(), "by showing");
    stage.git.run_checked(&["config", "filter.own.required", "true"], &[]).await.unwrap();
    fs::write(checkout.path().join("b.txt"), "to be filtered\n").unwrap();
    assert!(matches!(checkout.seal().await, Err(GitError::Failed { .. })), "not kept as what it must not be");
    scratch.check_out(&sealed.commit).await.unwrap();
}

#[tokio::test]
async fn checkout_replaced_by_a_link_is_not_sealed() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    let elsewhere = stage.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("secret"), "secret\n").unwrap();
    fs::rename(checkout.path(), stage.path().join("moved")).unwrap();
    symlink(&elsewhere, checkout.path()).unwrap();
    assert!(matches!(checkout.seal().await, Err(GitError::Unfit { .. })));
    checkout.discard(&stage.home, protocol::Timestamp(1)).await.unwrap();
    assert!(elsewhere.join("secret").exists());
}

#[tokio::test]
async fn files_of_a_git_folder_are_never_checked_out() {
    let stage = Stage::new().await;
    let git = &stage.git;
    let base_commit = git::BaseCommit::current(git).await.unwrap();
    let root = stage.home.make_checkouts(stage.session).unwrap();
    let repository = Repository::find(git).await.unwrap();
    let order =
        CheckoutRequest { id: stage.id(), name: "look".into(), title: String::new(), base: base_commit.base.clone() };
    let scratch = ScratchCheckout::create(&repository, &root, order).await.unwrap();
    let blob = git.run_checked(&["hash-object", "-w", "--stdin"], b"evil\n").await.unwrap().run_for_text();
    let hooks = git
        .run_checked(&["mktree"], format!("100755 blob {blob}\tpost-checkout\n").as_bytes())
        .await
        .unwrap()
        .run_for_text();
    let inside =
        git.run_checked(&["mktree"], format!("040000 tree {hooks}\thooks\n").as_bytes()).await.unwrap().run_for_text();
    let before = stage.belongings().await;
    for name in [".git", ".GIT", "git~1", ".git ", ".g\u{200c}it", "..", "."] {
        let tree = git
            .run_checked(&["mktree", "-z"], format!("040000 tree {inside}\t{name}\0").as_bytes())
            .await
            .unwrap()
            .run_for_text();
        let made = git.text(&["commit-tree", "-p", base_commit.head.as_str(), "-m", "x", &tree]).await.unwrap();
        let tip = git::Commit::new(&made).unwrap();
        assert!(scratch.check_out(&tip).await.is_err(), "{name:?} is shown");
        let landing = git::LandRequest {
            base_commit: &base_commit,
            tip: &tip,
            scratch: &scratch,
            mark_ref: "refs/bosun/landing",
        };
        assert!(landing.land(git).await.is_err(), "{name:?} lands");
        assert_eq!(stage.belongings().await, before, "{name:?}");
    }
}
