//! Runs git in a folder, without the user's hooks, prompts and environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{ExitGrace, ExitStatus, Guardian, Program, Stderr, Stdin};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::GitError;

/// Timeout of one command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum bytes kept of each output stream of a command.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// Settings for every command: no hooks, no watcher, no signing, no background maintenance.
const SETTINGS: [&str; 14] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "protocol.file.allow=always",
    "submodule.recurse=false",
    // Git must not ask the repository that lends objects for its refs, least of all with a program named in its settings.
    "core.alternateRefsCommand=:",
    // Names that some file systems treat as `.git` are never allowed.
    "core.protectHFS=true",
    "core.protectNTFS=true",
    // Many workers pin their commits in one repository at once.
    "core.filesRefLockTimeout=60000",
    "core.packedRefsTimeout=60000",
];

/// Git in a folder.
#[derive(Debug, Clone)]
pub struct Git {
    guardian: Guardian,
    folder: PathBuf,
    env: Vec<(OsString, OsString)>,
    /// Additional settings, each a key and a value. They are passed in the environment, since a key may contain any
    /// byte.
    settings: Vec<(OsString, OsString)>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code.
    pub code: i32,
    /// Its output.
    pub stdout: Vec<u8>,
    /// Its error output.
    pub stderr: String,
}

impl CommandOutput {
    /// Its output as text, without the trailing line break.
    pub fn run_for_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }
}

impl Git {
    /// Git in this folder. Variables about repositories are removed from the environment.
    pub fn new(guardian: Guardian, folder: impl Into<PathBuf>, env: &[(OsString, OsString)]) -> Git {
        let mut env: Vec<_> =
            env.iter().filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_")).cloned().collect();
        for (name, value) in [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_EDITOR", "true"),
            ("GIT_PAGER", "cat"),
        ] {
            env.retain(|(known, _)| known != name);
            env.push((name.into(), value.into()));
        }
        Git { guardian, folder: folder.into(), env, settings: Vec::new() }
    }

    /// The same in another folder.
    pub fn in_folder(&self, folder: impl Into<PathBuf>) -> Git {
        Git { folder: folder.into(), ..self.clone() }
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with_env(mut self, name: &str, value: impl Into<OsString>) -> Git {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with one more setting.
    #[must_use]
    pub(crate) fn with_setting(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Git {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// The settings as variables that git reads.
    fn settings_env(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let count = ("GIT_CONFIG_COUNT".into(), self.settings.len().to_string().into());
        let entries = self.settings.iter().enumerate().flat_map(|(n, (key, value))| {
            [
                (format!("GIT_CONFIG_KEY_{n}").into(), key.clone()),
                (format!("GIT_CONFIG_VALUE_{n}").into(), value.clone()),
            ]
        });
        std::iter::once(count).chain(entries)
    }

    /// Git for a repository whose settings are untrusted: missing objects are not fetched, since those settings
    /// would name the programs for it.
    #[must_use]
    pub(crate) fn without_fetching(self) -> Git {
        self.with_env("GIT_NO_LAZY_FETCH", "1")
            .with_env("GIT_ALLOW_PROTOCOL", "")
            .with_env("GIT_NO_REPLACE_OBJECTS", "1")
    }

    /// The opposite of [`Git::without_fetching`].
    #[must_use]
    pub(crate) fn with_fetching(mut self) -> Git {
        self.env.retain(|(name, _)| name != "GIT_NO_LAZY_FETCH" && name != "GIT_ALLOW_PROTOCOL");
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a command that must succeed; returns its output as text.
    pub async fn text<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, GitError> {
        Ok(self.run_checked(args, &[]).await?.run_for_text())
    }

    /// Runs a command that must succeed.
    pub async fn run_checked<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<CommandOutput, GitError> {
        let output = self.run(args, input).await?;
        match output.code {
            0 => Ok(output),
            _ => Err(self.failure(args, &output)),
        }
    }

    /// The error of a failed command.
    pub(crate) fn failure<A: AsRef<OsStr>>(&self, args: &[A], output: &CommandOutput) -> GitError {
        GitError::Failed { command: display_args(args), folder: self.folder.clone(), said: failure_text(output) }
    }

    /// The error of a command with unexpected output.
    pub(crate) fn unexpected_output(&self, command: &str, answer: &str) -> GitError {
        let said = format!("unexpected output: {}", answer.chars().take(200).collect::<String>());
        GitError::Failed { command: command.to_owned(), folder: self.folder.clone(), said }
    }

    /// Runs a command and returns its output with any exit code; only a failure to run it is an error.
    pub async fn run<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<CommandOutput, GitError> {
        let settings = SETTINGS.into_iter().flat_map(|setting| [OsString::from("-c"), OsString::from(setting)]);
        let mut program = Program::new("git", &self.folder).args(settings);
        program = program.args(args.iter().map(|arg| arg.as_ref().to_owned()));
        program.env = self.env.iter().cloned().chain(self.settings_env()).collect();
        (program.stdin, program.stderr) = (Stdin::Pipe, Stderr::Pipe);
        // Git removes its locks when asked to end; a killed one leaves them in the user's repository.
        program.exit_grace = ExitGrace::Patient;
        let unavailable = |error: &dyn std::fmt::Display| GitError::Unavailable(error.to_string());
        let mut process = self.guardian.spawn(program).await.map_err(|error| unavailable(&error))?;
        let (mut stdin, mut stderr) = (process.stdin.take(), process.stderr.take());
        let work = async {
            let write = async {
                if let Some(mut stdin) = stdin.take() {
                    // A command that does not read all input reports the reason itself.
                    let _unread = stdin.write_all(input).await;
                }
            };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let read = async { (&mut process.output).take(MAX_OUTPUT_BYTES).read_to_end(&mut out).await };
            let read_err = async {
                match &mut stderr {
                    Some(stderr) => stderr.take(MAX_OUTPUT_BYTES).read_to_end(&mut err).await,
                    None => Ok(0),
                }
            };
            let ((), read, err_read) = tokio::join!(write, read, read_err);
            read.and(err_read).map_err(|error| unavailable(&error))?;
            let exit = process.job.wait().await.map_err(|error| unavailable(&error))?;
            let code = match exit.status {
                ExitStatus::Code(code) => code,
                _ => -1,
            };
            Ok(CommandOutput { code, stdout: out, stderr: String::from_utf8_lossy(&err).trim().to_owned() })
        };
        let too_long = |_elapsed| GitError::TooLong {
            command: display_args(args),
            folder: self.folder.clone(),
            seconds: COMMAND_TIMEOUT.as_secs(),
        };
        tokio::time::timeout(COMMAND_TIMEOUT, work).await.map_err(too_long)?
    }
}

fn display_args<A: AsRef<OsStr>>(args: &[A]) -> String {
    args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn failure_text(output: &CommandOutput) -> String {
    if output.stderr.is_empty() { format!("exit code {}", output.code) } else { output.stderr.clone() }
}
