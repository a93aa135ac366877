//! Starts and follows a shell command, in the foreground and in the background. All commands are started here.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Guardian, Process, Program, ProgramExit, SpawnError, WaitError};
use tokio::io::AsyncReadExt;

use crate::{ToolError, environment};

/// A command and where it runs.
#[derive(Debug, Clone, Copy)]
pub struct ShellCommand<'a> {
    /// The command line.
    pub command: &'a str,
    /// The folder it starts in.
    pub cwd: &'a Path,
    /// Its complete environment.
    pub env: &'a [(OsString, OsString)],
    /// Maximum bytes of memory for each of its processes; no limit when absent.
    pub memory_bytes: Option<u64>,
}

/// Starts a command without input, its stderr merged into its stdout. Dropping the process kills all of it.
pub async fn launch(guardian: &Guardian, command: ShellCommand<'_>) -> Result<Process, ToolError> {
    check_command(command.command)?;
    let mut program = Program::new(shell_for(command), command.cwd).args(["-c", command.command]);
    program.env = environment::guarded_env(command.env);
    program.max_memory_bytes = command.memory_bytes;
    guardian.spawn(program).await.map_err(|error| match error {
        SpawnError::TooLarge => ToolError::refused("`command` is too long; write it into a script file and run that"),
        SpawnError::ProgramMissing(_) | SpawnError::DirectoryMissing(_) | SpawnError::Forbidden(_) => {
            ToolError::Refused(error.to_string())
        }
        SpawnError::Unavailable(_) | SpawnError::Failed { .. } => ToolError::failed(error),
    })
}

/// Refuses commands that no shell accepts.
pub(crate) fn check_command(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::refused("`command` is empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::refused("`command` contains a NUL character, which no shell accepts"));
    }
    Ok(())
}

/// How long to read output after a command's end; only a process outside its tree can hold the pipe longer.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);
const BUFFER_BYTES: usize = 16 * 1024;

/// Reads a command's output to its end and waits for its exit. It may be dropped and called again to continue.
pub async fn follow(process: &mut Process, mut sink: impl FnMut(&[u8])) -> Result<ProgramExit, WaitError> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let Process { output, job, .. } = process;
    let exit = loop {
        tokio::select! {
            read = output.read(&mut buffer) => match read {
                Ok(count) if count > 0 => sink(&buffer[..count]),
                Ok(_) | Err(_) => return job.wait().await,
            },
            exit = job.wait() => break exit?,
        }
    };
    let rest = async {
        while let Ok(count) = output.read(&mut buffer).await
            && count > 0
        {
            sink(&buffer[..count]);
        }
    };
    // The command has ended; a timeout here is not a failure.
    let _: Result<(), _> = tokio::time::timeout(OUTPUT_GRACE, rest).await;
    Ok(exit)
}

/// The shell that runs a command. All shells read plain words alike, and the plain shell starts in half the time of
/// bash.
fn shell_for(command: ShellCommand<'_>) -> PathBuf {
    let any_shell = is_plain(command.command) && command.env.iter().all(|(name, _)| is_plain_variable(name));
    PathBuf::from(if any_shell { PLAIN_SHELL } else { bash_or_plain_shell() })
}

const PLAIN_SHELL: &str = "/bin/sh";

/// The shell whose syntax the policy parses, if installed. Another shell may read quotes differently, and so run a
/// command that the policy did not check.
fn bash_or_plain_shell() -> &'static str {
    const BASH: &str = "/bin/bash";
    if Path::new(BASH).exists() { BASH } else { PLAIN_SHELL }
}

/// Whether a command is one program and its arguments, in characters without a special meaning in any shell.
fn is_plain(command: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:@%+,=".contains(&byte);
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let Some(program) = words.next().filter(|_| command.bytes().all(is_plain)) else { return false };
    match program {
        "true" | "false" => true,
        // Shells differ on its options.
        "echo" => !words.any(|word| word.starts_with('-')),
        program => !program.contains('=') && !SHELL_BUILTINS.split(' ').any(|builtin| builtin == program),
    }
}

/// Whether every shell passes a variable on unchanged and does not act on it.
fn is_plain_variable(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && !name.starts_with("BASH") && !name.starts_with(|first: char| first.is_ascii_digit()) && name != "ENV"
}

/// Shell builtins and keywords, which differ between shells.
const SHELL_BUILTINS: &str = ". : alias bg bind break builtin caller case cd command compgen complete compopt continue coproc \
    declare dirs disown do done elif else enable esac eval exec exit export fc fg fi for function \
    getopts hash help history if in jobs kill let local logout mapfile popd printf pushd pwd read \
    readarray readonly return select set shift shopt source suspend test then time times trap type \
    typeset ulimit umask unalias unset until wait while";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_every_shell_reads_alike_are_plain() {
        for command in ["cargo test -p tools --features a,b", "git status", " make  -j4 ", "x --a=b c=d", "echo a b"] {
            assert!(is_plain(command), "{command}");
        }
        let not_plain =
            "a;b, a>b,a $b,a 'b',a *,a ~,a\nb,a b#,!a,A=1 b,{ a,[ a,a\tb,é,echo -e a,source a,time a,cd a,if a,a|b, ";
        for command in not_plain.split(',') {
            assert!(!is_plain(command), "{command}");
        }
    }

    #[test]
    fn variables_that_a_shell_acts_on_or_drops_are_not_plain() {
        for name in ["PATH", "_x", "A1"] {
            assert!(is_plain_variable(OsStr::new(name)), "{name}");
        }
        for name in ["BASH_ENV", "BASH_FUNC_f%%", "npm.config", "1A", "ENV", "é"] {
            assert!(!is_plain_variable(OsStr::new(name)), "{name}");
        }
    }
}
