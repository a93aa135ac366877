//! Another process of this executable, as a person would start it, to be killed in the middle of its work. It is how
//! Bosun tests itself. It is nobody's tool and so has no guardian; what it starts has one.

use std::ffi::{CStr, OsString};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::process::Pid;
use rustix::thread::set_name;

use crate::ExitStatus;
use crate::proc::ProcessStat;

/// What a process that starts twins is called: below a `bosun` nobody speaks for a person.
const NAME: &CStr = c"bosun-selftest";

/// Lets the processes that this one starts count as a person's. Only the main thread can say so, and only a process
/// that runs no agents of its own may.
pub fn stand_aside() -> io::Result<()> {
    Ok(set_name(NAME)?)
}

/// How often a twin is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// How a twin is started.
#[derive(Debug)]
pub struct SiblingStart<'a> {
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// The folder it works in.
    pub cwd: &'a Path,
    /// What it prints, complaints included.
    pub output: File,
}

/// A process of this executable. It is killed when it is dropped before its end.
#[derive(Debug)]
pub struct SiblingProcess(Child);

impl SiblingProcess {
    /// Starts it.
    #[expect(clippy::disallowed_methods, reason = "what a person starts is not a program of an agent")]
    pub fn start(birth: SiblingStart<'_>) -> io::Result<SiblingProcess> {
        let SiblingStart { args, env, cwd, output } = birth;
        // By its path, as a shell does: what is started through a link of `/proc` is named after that.
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

    /// Waits for its end; none when it has not come within this time.
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
            thread::sleep(LOOK);
        }
    }
}

impl Drop for SiblingProcess {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// How many living processes work in a folder or below it. Those that hide where they work are not seen.
pub fn working_below(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir("/proc")? {
        // A process may be gone by the time it is looked at.
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
