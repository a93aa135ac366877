//! How git is run.

use git::{GitError, Repository, clear_ref_locks};

use crate::stage::Stage;

#[tokio::test]
async fn git_command_ignores_the_environment_and_reports_failures() {
    let stage = Stage::new().await;
    assert!(stage.path().join("repo/.git").is_dir(), "a foreign GIT_DIR is not heard");
    let head = stage.git.text(&["rev-parse", "HEAD"]).await.unwrap();
    assert_eq!(head.len(), 40);
    let missing = stage.git.text(&["rev-parse", "--verify", "nothing"]).await;
    assert!(matches!(&missing, Err(GitError::Failed { said, .. }) if said.contains("Needed a single revision")));
    let kept = stage.git.run_checked(&["hash-object", "--stdin"], b"one\n").await.unwrap();
    assert_eq!(kept.run_for_text(), stage.git.text(&["rev-parse", "HEAD:a.txt"]).await.unwrap());
}

#[tokio::test]
async fn hooks_of_the_repository_are_not_run() {
    let stage = Stage::new().await;
    stage.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch ran; exit 1\n");
    let hook = stage.git.folder().join(".git/hooks/pre-commit");
    std::fs::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    stage.write("b.txt", "two\n");
    stage.git.run_checked(&["add", "-A"], &[]).await.unwrap();
    stage.git.run_checked(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
    assert!(!stage.git.folder().join("ran").exists());
}

/// A killed git command leaves its locks behind.
#[tokio::test]
async fn next_owner_removes_ref_locks_of_a_killed_command() {
    let stage = Stage::new().await;
    let repository = Repository::find(&stage.git).await.unwrap();
    let head = repository.head().await.unwrap();
    let (own, other) = (format!("refs/bosun/{}/fleet/1/tip", stage.session), "refs/bosun/other/fleet/1/tip");
    let outside = stage.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept.lock"), "").unwrap();
    for name in [&own, other] {
        repository.pin(name, &head).await.unwrap();
        stage.write(&format!(".git/{name}.lock"), "");
    }
    let link = stage.git.folder().join(format!(".git/refs/bosun/{}/link", stage.session));
    std::os::unix::fs::symlink(&outside, link).unwrap();
    assert_eq!(clear_ref_locks(&stage.git, stage.session).await.unwrap(), 1);
    repository.pin(&own, &head).await.unwrap();
    assert!(stage.git.folder().join(format!(".git/{other}.lock")).exists(), "another session's");
    assert!(outside.join("kept.lock").exists());
    assert_eq!(clear_ref_locks(&stage.git.in_folder(stage.path()), stage.session).await.unwrap(), 0, "no repository");
}
