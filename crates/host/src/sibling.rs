//! Other processes of this executable, started as the user would: one that is killed in the middle of its work, for the
//! self-test, and one that outlives this process, to keep sessions. They do not belong to an agent and so have no
//! guardian; the programs they start have one.

use std::ffi::{CStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::process::Pid;
use rustix::thread::set_name;

use crate::ExitStatus;
use crate::proc::ProcessStat;

/// The process name of a process that starts siblings: a process below a `bosun` never counts as the user's.
const SIBLING_STARTER_NAME: &CStr = c"bosun-starter";

/// Makes the processes that this one starts count as the user's. Only the main thread can do this, and only a process
/// without agents of its own may.
pub fn act_as_user() -> io::Result<()> {
    Ok(set_name(SIBLING_STARTER_NAME)?)
}

/// The interval of checks whether a sibling has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// The start parameters of a sibling.
#[derive(Debug)]
pub struct SiblingStart<'a> {
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// The folder it works in.
    pub cwd: &'a Path,
    /// The file for its output, standard error included.
    pub output: File,
}

/// A process of this executable. It is killed when dropped before its end.
#[derive(Debug)]
pub struct SiblingProcess(Child);

impl SiblingProcess {
    /// Starts it.
    #[expect(clippy::disallowed_methods, reason = "a sibling stands for a process of the user, not of an agent")]
    pub fn start(request: SiblingStart<'_>) -> io::Result<SiblingProcess> {
        let SiblingStart { args, env, cwd, output } = request;
        // By its path, as a shell does: a program started through a link in `/proc` is named after that link.
        let child = Command::new(std::env::current_exe()?)
            .args(args)
            .env_clear()
            .envs(env)
            .current_dir(cwd)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(SiblingProcess(child))
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) -> io::Result<()> {
        self.0.kill()
    }

    /// Waits for its end; none if it does not end within this time.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait()? {
                let signal = || ExitStatus::Signal(status.signal().unwrap_or_default());
                return Ok(Some(status.code().map_or_else(signal, ExitStatus::Code)));
            }
            if began.elapsed() >= limit {
                return Ok(None);
            }
            thread::sleep(CHECK_INTERVAL);
        }
    }
}

impl Drop for SiblingProcess {
    fn drop(&mut self) {
        // This fails if the process has already ended.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// A process of this executable that outlives this one.
#[derive(Debug)]
pub struct ResidentProcess(Child);

impl ResidentProcess {
    /// Starts it with the environment of this process. It writes its errors to the log.
    #[expect(clippy::disallowed_methods, reason = "it stands for a process of the user, not of an agent")]
    pub fn start(args: &[&str], env: (&str, &Path), cwd: &Path, log: File) -> io::Result<ResidentProcess> {
        let child = Command::new(std::env::current_exe()?)
            .args(args)
            .env(env.0, env.1)
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        Ok(ResidentProcess(child))
    }

    /// Waits for its first line of output; none if it ended without one. Blocks the thread meanwhile.
    pub fn first_line(mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        if let Some(output) = self.0.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        if line.is_empty() {
            self.0.wait()?;
            return Ok(None);
        }
        Ok(Some(line))
    }
}

/// The number of live processes that work in a folder or below it. Processes that hide their working directory are not
/// counted.
pub fn count_processes_in(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir("/proc")? {
        // A process may be gone by the time it is read.
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        let lives = ProcessStat::read(pid).is_ok_and(|stat| !stat.is_dead());
        if lives && fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)) {
            count += 1;
        }
    }
    Ok(count)
}
