//! A repository to work on, and a home for checkouts of it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git::{Checkout, CheckoutId, CheckoutRequest, Commit, Git, GitError, Repository};
use host::{Guardian, Home};
use protocol::{SessionId, TaskId};
use tempfile::TempDir;
use uuid::Uuid;

/// A folder with a repository in it, `repo`, that has one commit.
pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) git: Git,
    pub(crate) home: Home,
    pub(crate) session: SessionId,
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
        let home = Home::open(folder.path().canonicalize().unwrap().join("home")).unwrap();
        let stage = Stage { folder, git, home, session: SessionId::new(Uuid::now_v7()) };
        stage.write("a.txt", "one\n");
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "someone"],
            &["config", "user.email", "someone@example.invalid"],
            &["add", "-A"],
            &["commit", "-q", "-m", "first"],
        ] {
            stage.git.run_checked(args, &[]).await.unwrap();
        }
        stage
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.git.folder().join(name), text).unwrap();
    }

    /// Waits until a new file would have a later time than this file.
    pub(crate) fn let_pass(&self, file: &Path) {
        let dated = |path: &Path| std::fs::metadata(path).map(|found| (found.ctime(), found.ctime_nsec())).unwrap();
        let (mark, last) = (self.path().join("mark"), dated(file));
        while {
            std::fs::write(&mark, "").unwrap();
            dated(&mark) <= last
        } {}
    }

    pub(crate) fn id(&self) -> CheckoutId {
        CheckoutId { session: self.session, task: TaskId::new(Uuid::now_v7()) }
    }

    /// A checkout of HEAD.
    pub(crate) async fn checkout(&self, name: &str) -> Checkout {
        self.make(self.id(), name).await.unwrap()
    }

    pub(crate) async fn make(&self, id: CheckoutId, name: &str) -> Result<Checkout, GitError> {
        let repository = Repository::find(&self.git).await?;
        let base = repository.head().await?;
        let root = self.home.make_checkouts(id.session).unwrap();
        Checkout::create(&repository, &root, CheckoutRequest { id, name: name.into(), title: String::new(), base })
            .await
    }

    /// Runs git commands in a checkout as an agent would, with arguments split at spaces.
    pub(crate) async fn run(&self, checkout: &Checkout, commands: &[&str]) {
        let git = self.git.in_folder(checkout.path());
        for command in commands {
            let args: Vec<&str> = command.split(' ').collect();
            git.run_checked(&args, &[]).await.unwrap();
        }
    }

    /// The content of a file in a commit.
    pub(crate) async fn file(&self, commit: &Commit, name: &str) -> Option<String> {
        let said = self.git.run(&["cat-file", "-p", &format!("{commit}:{name}")], &[]).await.unwrap();
        (said.code == 0).then(|| String::from_utf8(said.stdout).unwrap())
    }

    /// Everything of the user's that must stay as it is: files with their bytes and modes, the index, HEAD, config,
    /// hooks, logs, and every ref but ours.
    pub(crate) async fn belongings(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        files(self.git.folder(), self.git.folder(), &mut all);
        all.retain(|name, _| !name.starts_with(".git/objects") && !name.starts_with(".git/refs/bosun"));
        let refs = self.git.text(&["for-each-ref", "--format=%(refname) %(objectname)"]).await.unwrap();
        let refs: Vec<&str> = refs.lines().filter(|line| !line.starts_with("refs/bosun/")).collect();
        all.insert("refs".into(), refs.join("\n").into_bytes());
        all.insert("stash".into(), self.git.run_checked(&["stash", "list"], &[]).await.unwrap().stdout);
        all
    }
}

fn files(top: &Path, folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (name, found) = (path.strip_prefix(top).unwrap().display().to_string(), path.symlink_metadata().unwrap());
        if found.is_dir() {
            all.insert(format!("{name}/"), found.mode().to_string().into_bytes());
            files(top, &path, all);
        } else if found.is_symlink() {
            all.insert(name, path.read_link().unwrap().into_os_string().into_encoded_bytes());
        } else {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes.extend(found.mode().to_string().into_bytes());
            all.insert(name, bytes);
        }
    }
}
