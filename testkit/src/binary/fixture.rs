//! A home, a working folder, and the binary.

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
    /// A fixture for the binary at this path.
    pub fn new(program: &str) -> BinaryFixture {
        let base = tempfile::Builder::new().prefix("bosun-").tempdir().unwrap();
        fs::create_dir(base.path().join("work")).unwrap();
        BinaryFixture { program: program.into(), user: User::Same, disk: None, base }
    }

    /// A fixture whose binary runs as an ordinary user, even if the tests run as root.
    pub fn of_ordinary_user(program: &str) -> BinaryFixture {
        let fixture = BinaryFixture::new(program);
        if !is_root() {
            return fixture;
        }
        // The user may not be allowed into the folder that the binary is in.
        let program = fixture.base.path().join("bosun");
        fs::copy(&fixture.program, &program).unwrap();
        for path in [fixture.base.path(), &fixture.folder()] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        BinaryFixture { program, user: User::Nobody, ..fixture }
    }

    /// A fixture whose home is a disk of this many KiB; `None` if no disk can be mounted.
    pub fn on_small_disk(program: &str, kib: u32) -> Option<BinaryFixture> {
        let fixture = BinaryFixture::new(program);
        fs::create_dir(fixture.home()).unwrap();
        let disk = SmallDisk::mount(&fixture.home(), kib)?;
        Some(BinaryFixture { disk: Some(disk), ..fixture })
    }

    /// The path of the binary, accessible to its user.
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

    /// The disk of its home.
    pub fn disk(&self) -> &SmallDisk {
        self.disk.as_ref().unwrap()
    }

    /// A path in the folder that the binary works in.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes the script that plays the model, unless an invocation names another one.
    pub fn script(&self, text: &str) -> &BinaryFixture {
        fs::write(self.script_path(), text).unwrap();
        self
    }

    /// The path of that script.
    pub fn script_path(&self) -> PathBuf {
        self.base.path().join("model.yaml")
    }

    /// The binary with these arguments and the fixture's home, folder and script, in an otherwise empty environment.
    pub fn bosun<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> BinaryInvocation {
        self.invocation(&self.program).args(args)
    }

    /// Any program in the environment of the binary.
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

    /// The binary with a prompt, every permission, and a model that a server plays, such as `anthropic/test-model`.
    pub fn prompt_over(&self, server: &ModelServer, model: &str, text: &str) -> BinaryInvocation {
        self.prompt(text).against(server).env("BOSUN_MODEL", model)
    }

    /// The output of `sessions list --json`, newest first.
    #[track_caller]
    pub fn sessions(&self) -> Vec<Value> {
        self.bosun(["sessions", "list", "--json"]).run().expect(0).json().as_array().unwrap().clone()
    }

    /// The id of the newest session.
    #[track_caller]
    pub fn newest(&self) -> String {
        self.sessions()[0]["id"].as_str().unwrap().to_owned()
    }

    /// A session's log from `sessions export`.
    #[track_caller]
    pub fn log(&self, id: &str) -> Vec<Envelope> {
        let exported = self.bosun(["sessions", "export", id, "--format", "json"]).run().expect(0);
        serde_json::from_str(&exported.stdout).unwrap()
    }

    /// The folder of a session.
    pub fn session_dir(&self, id: &str) -> PathBuf {
        self.home().join("sessions").join(id)
    }

    /// The database of a session.
    pub fn session_db(&self, id: &str) -> PathBuf {
        self.session_dir(id).join("session.db")
    }
}
