//! An invocation of the binary that has not started yet.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{BinaryExit, RunningBinary};
use crate::server::ModelServer;

/// The binary with its arguments and environment.
#[derive(Debug)]
#[must_use = "nothing runs before `run` or `start`"]
pub struct BinaryInvocation {
    command: Command,
    stdin: Vec<u8>,
    stdout: Stdio,
    stderr: Stdio,
}

impl BinaryInvocation {
    /// The key that [`BinaryInvocation::against`] sets.
    pub const KEY: &str = "sk-test-0123456789";

    pub(super) fn new(program: &Path, folder: &Path) -> BinaryInvocation {
        let mut command = Command::new(program);
        command.current_dir(folder).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        BinaryInvocation { command, stdin: Vec::new(), stdout: Stdio::piped(), stderr: Stdio::piped() }
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> BinaryInvocation {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> BinaryInvocation {
        self.command.env(name, value);
        self
    }

    /// Points all providers to this server, with a key for each.
    pub fn against(self, server: &ModelServer) -> BinaryInvocation {
        self.env("ANTHROPIC_BASE_URL", server.url())
            .env("ANTHROPIC_API_KEY", BinaryInvocation::KEY)
            .env("OPENAI_BASE_URL", server.openai_url())
            .env("OPENAI_API_KEY", BinaryInvocation::KEY)
    }

    /// Removes an environment variable.
    pub fn without_env(mut self, name: &str) -> BinaryInvocation {
        self.command.env_remove(name);
        self
    }

    /// Starts in another folder.
    pub fn within(mut self, folder: &Path) -> BinaryInvocation {
        self.command.current_dir(folder);
        self
    }

    /// Sets its stdin, which is empty otherwise.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> BinaryInvocation {
        self.stdin = bytes.into();
        self
    }

    /// Gives it a stdout whose reader is closed.
    pub fn with_closed_stdout(mut self) -> BinaryInvocation {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        self.stdout = writer.into();
        self
    }

    /// Gives it a file as stdout.
    pub fn with_stdout_to(mut self, path: &Path) -> BinaryInvocation {
        self.stdout = OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap().into();
        self
    }

    /// Discards the output, so that nothing waits for processes that keep the streams open.
    pub fn discard_output(mut self) -> BinaryInvocation {
        (self.stdout, self.stderr) = (Stdio::null(), Stdio::null());
        self
    }

    /// Adds it to a command that runs it with `env`.
    pub(super) fn in_words(&self, command: &mut Command) {
        for (name, value) in self.command.get_envs() {
            let mut word = name.to_owned();
            word.push("=");
            word.push(value.unwrap_or_default());
            command.arg(word);
        }
        command.arg(self.command.get_program()).args(self.command.get_args());
        command.current_dir(self.command.get_current_dir().unwrap_or(Path::new("/")));
    }

    pub(super) fn user(mut self, user: u32) -> BinaryInvocation {
        self.command.uid(user).gid(user);
        self
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(self) -> BinaryExit {
        self.start().wait()
    }

    /// Starts it.
    #[track_caller]
    pub fn start(mut self) -> RunningBinary {
        let streams = self.command.stdin(Stdio::piped()).stdout(self.stdout).stderr(self.stderr);
        RunningBinary::new(streams.spawn().unwrap(), self.stdin)
    }
}
