//! The number of git processes per checkout, which must not depend on the size of the repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use git::{DiscardOutcome, GitError};
use protocol::Timestamp;

use crate::stage::Stage;

/// Maximum number of git processes to create a checkout, to seal one new file in it, and to remove it.
const MOST: usize = 40;

/// The git commands run in the life of a checkout of a repository with `files` files.
async fn commands(files: usize) -> Result<Vec<String>, GitError> {
    let mut stage = Stage::new().await;
    for n in 0..files {
        stage.write(&format!("file-{n}.txt"), "the same\n");
    }
    stage.git.run_checked(&["add", "-A"], &[]).await?;
    stage.git.run_checked(&["commit", "-q", "-m", "many"], &[]).await?;
    let (folder, log) = (stage.path().join("counted"), stage.path().join("commands"));
    let path = std::env::var_os("PATH").unwrap();
    fs::create_dir(&folder).unwrap();
    let text = format!("#!/bin/sh\necho \"$*\" >> {}\nPATH={}\nexec git \"$@\"\n", log.display(), path.display());
    fs::write(folder.join("git"), text).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    stage.git = stage.git.with_env("PATH", folder.display().to_string());
    let mut checkout = stage.checkout("x").await;
    checkout.notes().await?;
    fs::write(checkout.path().join("made.txt"), "made\n").unwrap();
    stage.let_pass(&checkout.path().join("made.txt"));
    checkout.seal().await?;
    assert!(matches!(checkout.discard(&stage.home, Timestamp(1)).await?, DiscardOutcome::Removed(_)));
    Ok(fs::read_to_string(log).unwrap().lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn number_of_git_processes_per_checkout_does_not_depend_on_its_files() {
    let (few, many) = (commands(3).await.unwrap(), commands(1_000).await.unwrap());
    assert_eq!(few.len(), many.len(), "{few:#?}\n{many:#?}");
    assert!(few.len() <= MOST, "{}: {few:#?}", few.len());
    // A checkout that has not changed since it was sealed is not sealed again.
    assert_eq!(few.iter().filter(|command| command.contains(" add --all ")).count(), 1, "{few:#?}");
}
