//! Runs git in a folder, deaf to the user's hooks, prompts and surroundings.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{ExitGrace, ExitStatus, Guardian, Program, Stderr, Stdin};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::GitError;

/// How long one command may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Most bytes that are kept of what a command says on each stream.
const MOST: u64 = 64 << 20;

/// What holds for every command: no hooks, no watcher, no signing, no upkeep behind the user's back.
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
    // What lends objects is not asked for its refs, least of all by a program that a repository names.
    "core.alternateRefsCommand=:",
    // What some file system takes for `.git` is nowhere a file's name.
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
    /// Settings besides those that always hold, each a key and a value. They are given by the environment, since a key may
    /// hold any byte.
    settings: Vec<(OsString, OsString)>,
}

/// How a command ended, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code.
    pub code: i32,
    /// Its output.
    pub out: Vec<u8>,
    /// Its complaints.
    pub err: String,
}

impl CommandOutput {
    /// Its output as text, without the line end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim_end_matches('\n').to_owned()
    }
}

impl Git {
    /// Git in this folder. Of the environment, what speaks of repositories is left out.
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
    pub fn at(&self, folder: impl Into<PathBuf>) -> Git {
        Git { folder: folder.into(), ..self.clone() }
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Git {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with one more setting.
    #[must_use]
    pub(crate) fn set(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Git {
        self.settings.push((key.into(), value.into()));
        self
    }

    /// The settings as variables that git reads.
    fn given(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let count = ("GIT_CONFIG_COUNT".into(), self.settings.len().to_string().into());
        let each = self.settings.iter().enumerate().flat_map(|(n, (key, value))| {
            [
                (format!("GIT_CONFIG_KEY_{n}").into(), key.clone()),
                (format!("GIT_CONFIG_VALUE_{n}").into(), value.clone()),
            ]
        });
        std::iter::once(count).chain(each)
    }

    /// The same for a repository whose settings others may have made: what is missing in it is fetched from nowhere,
    /// since they would name the programs that fetch it.
    #[must_use]
    pub(crate) fn untrusting(self) -> Git {
        self.with("GIT_NO_LAZY_FETCH", "1").with("GIT_ALLOW_PROTOCOL", "").with("GIT_NO_REPLACE_OBJECTS", "1")
    }

    /// The opposite of `wary`.
    #[must_use]
    pub(crate) fn trusting(mut self) -> Git {
        self.env.retain(|(name, _)| name != "GIT_NO_LAZY_FETCH" && name != "GIT_ALLOW_PROTOCOL");
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a command that must succeed, and gives its output as text.
    pub async fn text<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, GitError> {
        Ok(self.done(args, &[]).await?.text())
    }

    /// Runs a command that must succeed.
    pub async fn done<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<CommandOutput, GitError> {
        let said = self.run(args, input).await?;
        match said.code {
            0 => Ok(said),
            _ => Err(self.failed(args, &said)),
        }
    }

    /// The error of a command that ended badly.
    pub(crate) fn failed<A: AsRef<OsStr>>(&self, args: &[A], said: &CommandOutput) -> GitError {
        GitError::Failed { command: shown(args), folder: self.folder.clone(), said: complaint(said) }
    }

    /// The error of a command whose answer cannot be read.
    pub(crate) fn odd(&self, command: &str, answer: &str) -> GitError {
        let said = format!("an answer that cannot be read: {}", answer.chars().take(200).collect::<String>());
        GitError::Failed { command: command.to_owned(), folder: self.folder.clone(), said }
    }

    /// Runs a command, however it ends; only what could not be run at all is an error.
    pub async fn run<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Result<CommandOutput, GitError> {
        let settings = SETTINGS.into_iter().flat_map(|setting| [OsString::from("-c"), OsString::from(setting)]);
        let mut program = Program::new("git", &self.folder).args(settings);
        program = program.args(args.iter().map(|arg| arg.as_ref().to_owned()));
        program.env = self.env.iter().cloned().chain(self.given()).collect();
        (program.stdin, program.stderr) = (Stdin::Pipe, Stderr::Pipe);
        // It takes its locks away when it is asked to end; one that is killed leaves them in the user's repository.
        program.parting = ExitGrace::Patient;
        let unavailable = |error: &dyn std::fmt::Display| GitError::Unavailable(error.to_string());
        let mut process = self.guardian.spawn(program).await.map_err(|error| unavailable(&error))?;
        let (mut stdin, mut stderr) = (process.stdin.take(), process.stderr.take());
        let work = async {
            let write = async {
                if let Some(mut stdin) = stdin.take() {
                    // One that does not read to the end has its reasons, and tells them.
                    let _unread = stdin.write_all(input).await;
                }
            };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let read = async { (&mut process.output).take(MOST).read_to_end(&mut out).await };
            let complain = async {
                match &mut stderr {
                    Some(stderr) => stderr.take(MOST).read_to_end(&mut err).await,
                    None => Ok(0),
                }
            };
            let ((), read, complained) = tokio::join!(write, read, complain);
            read.and(complained).map_err(|error| unavailable(&error))?;
            let exit = process.job.wait().await.map_err(|error| unavailable(&error))?;
            let code = match exit.status {
                ExitStatus::Code(code) => code,
                _ => -1,
            };
            Ok(CommandOutput { code, out, err: String::from_utf8_lossy(&err).trim().to_owned() })
        };
        let too_long = |_elapsed| GitError::TooLong {
            command: shown(args),
            folder: self.folder.clone(),
            seconds: PATIENCE.as_secs(),
        };
        tokio::time::timeout(PATIENCE, work).await.map_err(too_long)?
    }
}

fn shown<A: AsRef<OsStr>>(args: &[A]) -> String {
    args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn complaint(said: &CommandOutput) -> String {
    if said.err.is_empty() { format!("exit code {}", said.code) } else { said.err.clone() }
}
