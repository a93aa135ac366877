//! Cleaning up: nothing outside is removed, and no work is lost.

use std::fs;
use std::os::unix::fs::symlink;

use git::{Checkout, CheckoutLease, DiscardOutcome, GitError, TrashedCheckout};
use protocol::{TaskId, Timestamp};
use uuid::Uuid;

use crate::stage::Stage;

const NOW: Timestamp = Timestamp(1_000);

#[tokio::test]
async fn checkout_is_removed_only_if_all_its_work_is_in_the_repository() {
    let stage = Stage::new().await;
    let checkout = stage.checkout("x").await;
    let (path, id) = (checkout.path().to_owned(), checkout.id());
    fs::write(path.join("b.txt"), "made after the last look\n").unwrap();
    let gone = checkout.discard(&stage.home, NOW).await.unwrap();
    assert!(matches!(gone, DiscardOutcome::Removed(removed) if removed.entries > 3), "{gone:?}");
    assert!(!path.exists());
    let kept = stage.git.text(&["show", &format!("{}:b.txt", id.work_ref())]).await.unwrap();
    assert_eq!(kept, "made after the last look");
    assert!(Checkout::all(&stage.git, &stage.home).is_empty());
}

#[tokio::test]
async fn later_changes_are_sealed_before_a_checkout_is_removed() {
    let changes: [(&str, &[&str], &str, &str); 5] = [
        ("a new file", &["!echo late > late.txt"], "late.txt", "late"),
        (
            "same size and time",
            &["!touch -r b.txt t && echo LATE > b.txt && touch -r t b.txt && rm t"],
            "b.txt",
            "LATE",
        ),
        ("an ignored file that is added", &["add -f x.log"], "x.log", "log"),
        ("a commit", &["!echo late > c.txt", "add c.txt", "commit -q -m late"], "c.txt", "late"),
        (
            "a file that is removed, and one in a new folder",
            &["!rm -rf b.txt && mkdir d && echo late > d/e"],
            "d/e",
            "late",
        ),
    ];
    for (what, steps, file, text) in changes {
        let stage = Stage::new().await;
        let mut checkout = stage.checkout("x").await;
        let id = checkout.id();
        fs::write(checkout.path().join(".gitignore"), "*.log\n").unwrap();
        fs::write(checkout.path().join("x.log"), "log\n").unwrap();
        fs::write(checkout.path().join("b.txt"), "made\n").unwrap();
        checkout.seal().await.unwrap();
        for step in steps {
            match step.strip_prefix('!') {
                Some(command) => {
                    let mut shell = std::process::Command::new("sh");
                    let done = shell.args(["-c", command]).current_dir(checkout.path()).status().unwrap();
                    assert!(done.success(), "{what}");
                }
                None => stage.run(&checkout, &[step]).await,
            }
        }
        let gone = checkout.discard(&stage.home, NOW).await.unwrap();
        assert!(matches!(gone, DiscardOutcome::Removed(_)), "{what}: {gone:?}");
        let kept = stage.git.text(&["show", &format!("{}:{file}", id.work_ref())]).await.unwrap();
        assert_eq!(kept, text, "{what}");
    }
}

#[tokio::test]
async fn checkout_that_may_be_in_use_is_not_removed() {
    let stage = Stage::new().await;
    let checkout = stage.checkout("x").await;
    let (path, id) = (checkout.path().to_owned(), checkout.id());
    let root = path.parent().unwrap().to_owned();
    let lease = CheckoutLease::acquire(&root, id).unwrap();
    let refused = checkout.clone().discard(&stage.home, NOW).await;
    assert!(matches!(&refused, Err(GitError::InUse { pid, .. }) if *pid == std::process::id()), "{refused:?}");
    assert!(checkout.is_in_use() && path.join("a.txt").exists());
    drop(lease);
    fs::write(root.join(format!("{}.lease", id.task)), "{\"boot\":\"x\",\"pid\":1,\"started\":1}").unwrap();
    assert!(!checkout.is_in_use(), "a process of another boot is dead");
    fs::write(root.join(format!("{}.lease", id.task)), "torn").unwrap();
    assert!(checkout.is_in_use(), "what cannot be read may be somebody's");
    fs::remove_file(root.join(format!("{}.lease", id.task))).unwrap();
    assert!(matches!(checkout.discard(&stage.home, NOW).await, Ok(DiscardOutcome::Removed(_))));
}

#[tokio::test]
async fn checkout_that_cannot_be_sealed_goes_to_the_trash_and_can_be_restored() {
    let stage = Stage::new().await;
    let checkout = stage.checkout("x").await;
    let path = checkout.path().to_owned();
    stage.run(&checkout, &["init -q inner"]).await;
    fs::write(path.join("inner/deep.txt"), "deep\n").unwrap();
    let inner = stage.git.in_folder(path.join("inner"));
    inner.run_checked(&["add", "-A"], &[]).await.unwrap();
    inner.run_checked(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "deep"], &[]).await.unwrap();
    let put_away = checkout.discard(&stage.home, NOW).await.unwrap();
    assert!(matches!(&put_away, DiscardOutcome::Trashed { why, .. } if why.contains("repositories")), "{put_away:?}");
    assert!(!path.exists());
    let all = TrashedCheckout::all(&stage.home);
    let [trashed] = &all[..] else { panic!("{all:?}") };
    assert_eq!(
        (trashed.trashed_at, fs::read_to_string(trashed.path(&stage.home).join("inner/deep.txt")).unwrap()),
        (NOW, "deep\n".into())
    );
    assert_eq!(trashed.restore(&stage.home).unwrap(), path);
    assert!(path.join("inner/deep.txt").exists() && TrashedCheckout::all(&stage.home).is_empty());
    let all = Checkout::all(&stage.git, &stage.home);
    assert_eq!(all.len(), 1);
    all[0].verify_ours().await.unwrap();
}

#[tokio::test]
async fn cleanup_never_removes_anything_outside_its_root() {
    let stage = Stage::new().await;
    let outside = stage.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "kept").unwrap();
    let before = stage.belongings().await;

    // Links that lead outside, a read-only folder, and an empty folder of a submodule.
    let checkout = stage.checkout("links").await;
    symlink(&outside, checkout.path().join("out")).unwrap();
    symlink(stage.git.folder(), checkout.path().join("repo")).unwrap();
    fs::create_dir(checkout.path().join("shut")).unwrap();
    fs::write(checkout.path().join("shut/file"), "x").unwrap();
    fs::set_permissions(checkout.path().join("shut"), std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    assert!(matches!(checkout.discard(&stage.home, NOW).await, Ok(DiscardOutcome::Removed(_))));

    // The checkout itself was replaced by a link, or is gone.
    for link in [true, false] {
        let checkout = stage.checkout("replaced").await;
        fs::rename(checkout.path(), stage.path().join(format!("moved-{link}"))).unwrap();
        if link {
            symlink(&outside, checkout.path()).unwrap();
        }
        let done = checkout.discard(&stage.home, NOW).await;
        assert!(matches!(done, Ok(DiscardOutcome::Trashed { .. })), "{done:?}");
    }
    // The folder of the session was replaced by a link.
    let checkout = stage.checkout("root").await;
    let root = checkout.path().parent().unwrap().to_owned();
    fs::rename(&root, stage.path().join("roots")).unwrap();
    symlink(stage.path().join("roots"), &root).unwrap();
    assert!(checkout.discard(&stage.home, NOW).await.is_err());
    assert!(Checkout::all(&stage.git, &stage.home).is_empty());
    assert_eq!(
        fs::read_dir(stage.path().join("roots")).unwrap().filter(|it| it.as_ref().unwrap().path().is_dir()).count(),
        1
    );

    assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    assert_eq!(stage.belongings().await, before);
}

#[tokio::test]
async fn ids_with_a_common_prefix_are_not_confused() {
    let stage = Stage::new().await;
    let like = |last: u128| TaskId::new(Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0000 + last));
    let mut made = Vec::new();
    for task in [like(1), like(0x10), like(0x11)] {
        let id = git::CheckoutId { task, ..stage.id() };
        made.push(stage.make(id, "same name").await.unwrap());
    }
    fs::write(made[1].path().join("b.txt"), "of the second").unwrap();
    let first = made.remove(0);
    assert!(matches!(first.discard(&stage.home, NOW).await, Ok(DiscardOutcome::Removed(_))));
    assert!(made.iter().all(|other| other.path().join("a.txt").exists()));
    assert_eq!(fs::read_to_string(made[0].path().join("b.txt")).unwrap(), "of the second");
    // A checkout inside another one is part of it, and goes to the trash with it.
    let inner = made[0].path().join("nested");
    stage
        .git
        .in_folder(stage.path())
        .run_checked(&["clone", "-q", "repo", inner.to_str().unwrap()], &[])
        .await
        .unwrap();
    let outer = made.remove(0);
    assert!(matches!(outer.discard(&stage.home, NOW).await, Ok(DiscardOutcome::Trashed { .. })));
    assert!(made[0].path().join("a.txt").exists());
}

#[tokio::test]
async fn interrupted_removal_is_finished_and_removes_nothing_else() {
    let stage = Stage::new().await;
    let checkout = stage.checkout("x").await;
    let (path, id) = (checkout.path().to_owned(), checkout.id());
    // The state left by a process that ended during the removal of a large checkout.
    let left = stage.home.trash_dir().join(format!("removed-{}", id.task));
    fs::create_dir_all(left.join("deep/er")).unwrap();
    fs::write(left.join("deep/er/file"), "kept elsewhere\n").unwrap();
    symlink(&path, left.join("link")).unwrap();
    let kept = stage.checkout("kept").await;
    kept.trash(&stage.home, NOW, "by hand").unwrap();
    assert_eq!(TrashedCheckout::all(&stage.home).len(), 1, "what is being removed is not in the trash");
    assert_eq!(git::finish_removals(&stage.home).entries, 5);
    assert!(!left.exists() && path.join("a.txt").exists());
    assert_eq!(TrashedCheckout::all(&stage.home).len(), 1);
    assert_eq!(git::finish_removals(&stage.home).entries, 0);
    assert!(matches!(checkout.discard(&stage.home, NOW).await, Ok(DiscardOutcome::Removed(_))));
    let root = path.parent().unwrap();
    assert_eq!(fs::read_dir(root).unwrap().count(), 0, "nothing stays beside it");
}
