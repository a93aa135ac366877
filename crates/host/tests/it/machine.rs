//! Helpers that inspect the machine.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bosun_host::{Guardian, Program};

/// The executable that is a guardian or an owner.
pub(crate) const EXECUTABLE: &str = env!("CARGO_BIN_EXE_bosun-host-guardian");

pub(crate) fn guardian() -> Guardian {
    Guardian::new(PathBuf::from(EXECUTABLE))
}

/// A script for the shell.
pub(crate) fn sh(script: &str) -> Program {
    Program::new("/bin/sh", "/").args(["-c", script]).env("PATH", "/usr/bin:/bin")
}

/// A number of seconds to sleep that no other process on this machine uses.
pub(crate) fn unique_sleep() -> String {
    let (_, random) = uuid::Uuid::now_v7().as_u64_pair();
    format!("1000.{random}")
}

/// One process as `/proc` shows it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) is_zombie: bool,
    pub(crate) command: String,
}

/// Every process of the machine.
pub(crate) fn processes() -> Vec<Seen> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(seen).collect()
}

fn seen(pid: i32) -> Option<Seen> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    Some(Seen { pid, parent, is_zombie: state == "Z", command })
}

/// The live processes whose command line contains this text, including shells that run it as a script.
pub(crate) fn running(words: &str) -> Vec<Seen> {
    processes().into_iter().filter(|seen| !seen.is_zombie && seen.command.contains(words)).collect()
}

/// The guardians that this process started.
pub(crate) fn guardians_of(owner: u32) -> Vec<Seen> {
    let is_guardian = |seen: &Seen| seen.parent.unsigned_abs() == owner && seen.command.contains("__guardian");
    processes().into_iter().filter(is_guardian).collect()
}

/// Waits until `done` returns true; fails after five seconds.
#[track_caller]
pub(crate) fn within_five_seconds(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(5), "not within five seconds: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

const NOBODY: u32 = 65534;

/// Runs a test's body as a user who is not root: root runs this very test again as `nobody`.
pub(crate) fn as_ordinary_user(test: &str, body: impl FnOnce()) {
    if rustix::process::geteuid().is_root() {
        // Named by the running process, since `nobody` may not enter the folder it is in.
        run_again(program("/proc/self/exe").uid(NOBODY).gid(NOBODY).env("TMPDIR", "/tmp"), test);
    } else {
        body();
    }
}

/// Runs a test's body with a disk of 256 KiB and one that takes no writes: runs this very test again where
/// these are mounted.
pub(crate) fn on_small_disks(test: &str, body: impl FnOnce(&Path, &Path)) {
    const MOUNT: &str = "mount -t tmpfs -o size=256k,mode=777 none \"$1\" && mkdir \"$1/ro\" && \
        mount -t tmpfs -o ro none \"$1/ro\" && shift && TMPDIR=\"$0\" exec \"$@\"";
    let here = std::env::temp_dir();
    if bosun_host::machine::free_bytes(&here).unwrap() <= 256 * 1024 {
        return body(&here, &here.join("ro"));
    }
    let folder = tempfile::tempdir().unwrap();
    let namespaces = if rustix::process::geteuid().is_root() { "-m" } else { "-rm" };
    let mut shell = program("unshare");
    shell
        .args([namespaces, "sh", "-c", MOUNT])
        .args([folder.path(), folder.path()])
        .arg(std::env::current_exe().unwrap());
    run_again(&mut shell, test);
}

/// Runs one test of this executable again, and fails unless exactly that test passed.
#[track_caller]
fn run_again(command: &mut Command, test: &str) {
    let output = command.args([test, "--exact", "--nocapture"]).current_dir("/").output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[expect(clippy::disallowed_methods, reason = "tests stand outside what they test")]
pub(crate) fn program(path: &str) -> Command {
    Command::new(path)
}
