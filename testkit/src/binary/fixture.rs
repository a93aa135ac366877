//! A home, a folder to work in, and the binary.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use protocol::Envelope;
use serde_json::Value;
use tempfile::TempDir;

use super::{BinaryInvocation, NOBODY, SmallDisk, is_root};
use crate::server::ModelServer;

/// A fresh home and folder for the binary.
#[derive(Debug)]
pub struct BinaryFixture {
    program: PathBuf,
    user: User,
    // Before the folder it is mounted in, since fields are dropped in order.
    disk: Option<SmallDisk>,
    base: TempDir,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum User {
    Same,
    Nobody,
}

impl BinaryFixture {
    /// A stage for the binary at this path.
    pub fn new(program: &str) -> BinaryFixture {
        let base = tempfile::Builder::new().prefix("bosun-").tempdir().unwrap();
        fs::create_dir(base.path().join("work")).unwrap();
        BinaryFixture { program: program.into(), user: User::Same, disk: None, base }
    }

    /// A stage whose binary runs as an ordinary user, even when root tests it.
    pub fn of_ordinary_user(program: &str) -> BinaryFixture {
        let stage = BinaryFixture::new(program);
        if !is_root() {
            return stage;
        }
        // The user may not be allowed into the folder that the binary is in.
        let program = stage.base.path().join("bosun");
        fs::copy(&stage.program, &program).unwrap();
        for path in [stage.base.path(), &stage.folder()] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        BinaryFixture { program, user: User::Nobody, ..stage }
    }

    /// A stage whose home is a disk of this many KiB; none where no disk can be mounted.
    pub fn on_small_disk(program: &str, kib: u32) -> Option<BinaryFixture> {
        let stage = BinaryFixture::new(program);
        fs::create_dir(stage.home()).unwrap();
        let disk = SmallDisk::mount(&stage.home(), kib)?;
        Some(BinaryFixture { disk: Some(disk), ..stage })
    }

    /// The binary itself, where its user can start it.
    pub fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn base(&self) -> &Path {
        self.base.path()
    }

    /// Its `BOSUN_HOME`.
    pub fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    /// The folder that the binary works in.
    pub fn folder(&self) -> PathBuf {
        self.base.path().join("work")
    }

    /// The disk that its home is.
    pub fn disk(&self) -> &SmallDisk {
        self.disk.as_ref().unwrap()
    }

    /// A path in the folder that the binary works in.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes the script that answers from now on, unless an invocation names another model.
    pub fn script(&self, text: &str) -> &BinaryFixture {
        fs::write(self.script_path(), text).unwrap();
        self
    }

    /// Where that script is.
    pub fn script_path(&self) -> PathBuf {
        self.base.path().join("model.yaml")
    }

    /// The binary with these arguments, the stage's home, folder and script, and nothing else of the environment.
    pub fn bosun<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> BinaryInvocation {
        self.invocation(&self.program).args(args)
    }

    /// Any program in the surroundings of the binary.
    pub(super) fn invocation(&self, program: &Path) -> BinaryInvocation {
        let model = format!("script/{}", self.script_path().display());
        let mut invocation = BinaryInvocation::new(program, &self.folder())
            .env("HOME", self.base.path())
            .env("BOSUN_HOME", self.home())
            .env("BOSUN_MODEL", model);
        if self.user == User::Nobody {
            invocation = invocation.user(NOBODY);
        }
        invocation
    }

    /// The binary with a prompt and every permission.
    pub fn prompt(&self, text: &str) -> BinaryInvocation {
        self.bosun(["-p", text, "--allow-all"])
    }

    /// The same with a model that a server plays, such as `anthropic/test-model`.
    pub fn prompt_over(&self, server: &ModelServer, model: &str, text: &str) -> BinaryInvocation {
        self.prompt(text).against(server).env("BOSUN_MODEL", model)
    }

    /// The sessions as `sessions list --json` tells them, newest first.
    #[track_caller]
    pub fn sessions(&self) -> Vec<Value> {
        self.bosun(["sessions", "list", "--json"]).run().expect(0).json().as_array().unwrap().clone()
    }

    /// The id of the newest session.
    #[track_caller]
    pub fn newest(&self) -> String {
        self.sessions()[0]["id"].as_str().unwrap().to_owned()
    }

    /// A session's log as `sessions export` gives it.
    #[track_caller]
    pub fn log(&self, id: &str) -> Vec<Envelope> {
        let exported = self.bosun(["sessions", "export", id, "--format", "json"]).run().expect(0);
        serde_json::from_str(&exported.stdout).unwrap()
    }

    /// The folder that holds a session.
    pub fn session_dir(&self, id: &str) -> PathBuf {
        self.home().join("sessions").join(id)
    }

    /// The file that holds a session.
    pub fn session_db(&self, id: &str) -> PathBuf {
        self.session_dir(id).join("session.db")
    }
}
