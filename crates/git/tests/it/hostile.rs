//! Agents that want more than their checkout: what they write must not run, and must not lead elsewhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use git::{Checkout, GitError, Order, Repository, Scratch};

use crate::stage::Stage;

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a8_commits_that_are_missing_are_not_fetched_by_programs_of_the_agent() {
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
async fn a8_filters_of_the_repository_run_no_program_of_the_agent() {
    let stage = Stage::new().await;
    let ran = stage.path().join("ran");
    script(&stage.git.folder().join("filter"), "cat");
    for args in [
        &["config", "filter.own.clean", "./filter"][..],
        &["config", "filter.own.smudge", "./filter"],
        &["add", "-A"],
        &["commit", "-q", "-m", "filter"],
    ] {
        stage.git.done(args, &[]).await.unwrap();
    }
    let mut checkout = stage.checkout("x").await;
    script(&checkout.path().join("filter"), &format!("touch {}; cat", ran.display()));
    fs::write(checkout.path().join(".gitattributes"), "*.txt filter=own\n").unwrap();
    fs::write(checkout.path().join("b.txt"), "made\n").unwrap();
    let sealed = checkout.seal().await.unwrap();
    assert!(!ran.exists(), "by sealing");
    let (repository, root) = (Repository::find(&stage.git).await.unwrap(), checkout.path().parent().unwrap());
    let order = Order { id: stage.id(), name: "look".into(), base: checkout.base().clone() };
    let scratch = Scratch::make(&repository, root, order).await.unwrap();
    scratch.show(&sealed.commit).await.unwrap();
    assert_eq!(fs::read_to_string(scratch.folder().join("b.txt")).unwrap(), "made\n");
    assert!(!ran.exists(), "by showing");
    stage.git.done(&["config", "filter.own.required", "true"], &[]).await.unwrap();
    fs::write(checkout.path().join("b.txt"), "to be filtered\n").unwrap();
    assert!(matches!(checkout.seal().await, Err(GitError::Failed { .. })), "not kept as what it must not be");
    scratch.show(&sealed.commit).await.unwrap();
}

#[tokio::test]
async fn a8_a_checkout_that_became_a_link_seals_nothing() {
    let stage = Stage::new().await;
    let mut checkout = stage.checkout("x").await;
    let elsewhere = stage.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("secret"), "secret\n").unwrap();
    fs::rename(checkout.path(), stage.path().join("moved")).unwrap();
    symlink(&elsewhere, checkout.path()).unwrap();
    assert!(matches!(checkout.seal().await, Err(GitError::Unfit { .. })));
    checkout.discard(&stage.home, protocol::At(1)).await.unwrap();
    assert!(elsewhere.join("secret").exists());
}
