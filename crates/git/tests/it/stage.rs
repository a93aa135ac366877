//! A repository to work on.

use std::path::{Path, PathBuf};

use git::Git;
use host::Guardian;
use tempfile::TempDir;

/// A folder with a repository in it, `repo`, that has one commit.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) git: Git,
}

impl Stage {
    pub(crate) async fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let repo = folder.path().join("repo");
        std::fs::create_dir(&repo).unwrap();
        let guardian = Guardian::new(PathBuf::from(env!("CARGO_BIN_EXE_bosun-git-guardian")));
        let env = [
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("HOME", folder.path().into()),
            ("GIT_DIR", "/nowhere".into()),
        ];
        let git = Git::new(guardian, repo, &env.map(|(name, value)| (name.into(), value)));
        let stage = Stage { folder, git };
        stage.write("a.txt", "one\n");
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "someone"],
            &["config", "user.email", "someone@example.invalid"],
            &["add", "-A"],
            &["commit", "-q", "-m", "first"],
        ] {
            stage.git.done(args, &[]).await.unwrap();
        }
        stage
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.git.folder().join(name), text).unwrap();
    }
}
