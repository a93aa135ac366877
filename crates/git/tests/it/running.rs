//! How git is run.

use git::GitError;

use crate::stage::Stage;

#[tokio::test]
async fn a_command_runs_deaf_to_the_surroundings_and_says_what_went_wrong() {
    let stage = Stage::new().await;
    assert!(stage.path().join("repo/.git").is_dir(), "a foreign GIT_DIR is not heard");
    let head = stage.git.text(&["rev-parse", "HEAD"]).await.unwrap();
    assert_eq!(head.len(), 40);
    let missing = stage.git.text(&["rev-parse", "--verify", "nothing"]).await;
    assert!(matches!(&missing, Err(GitError::Failed { said, .. }) if said.contains("Needed a single revision")));
    let kept = stage.git.done(&["hash-object", "--stdin"], b"one\n").await.unwrap();
    assert_eq!(kept.text(), stage.git.text(&["rev-parse", "HEAD:a.txt"]).await.unwrap());
}

#[tokio::test]
async fn hooks_of_the_repository_are_not_run() {
    let stage = Stage::new().await;
    stage.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch ran; exit 1\n");
    let hook = stage.git.folder().join(".git/hooks/pre-commit");
    std::fs::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    stage.write("b.txt", "two\n");
    stage.git.done(&["add", "-A"], &[]).await.unwrap();
    stage.git.done(&["commit", "-q", "-m", "second"], &[]).await.unwrap();
    assert!(!stage.git.folder().join("ran").exists());
}
