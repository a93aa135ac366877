//! Runs commands in a real shell where every program only records that it was started.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that run other programs: they are recorded, and then really run.
const WRAPPERS: [&str; 10] = ["bash", "sh", "dash", "env", "nohup", "nice", "timeout", "xargs", "find", "stdbuf"];

/// Programs that are recorded and do nothing.
const PROGRAMS: [&str; 50] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "awk", "cargo", "cat", "chmod", "cp", "curl", "cut", "date",
    "diff", "docker", "du", "echo", "file", "gh", "git", "go", "grep", "head", "ln", "ls", "make", "mkdir", "mv",
    "node", "npm", "perl", "ps", "python3", "rg", "rm", "sed", "sleep", "sort", "stat", "tail", "tar", "tee", "touch",
    "tr", "uniq", "wc", "wget", "whoami", "which",
];

/// What a command did.
pub(crate) struct Ran {
    /// The programs that were started.
    pub(crate) started: BTreeSet<String>,
    /// The files that were made in the folder it ran in.
    pub(crate) made: BTreeSet<String>,
}

/// Which programs a command starts.
pub(crate) fn started(command: &str) -> BTreeSet<String> {
    ran(command).started
}

/// Runs a command with bash in a place where programs do nothing but say that they were started. Commands with a path
/// are really run.
#[expect(clippy::disallowed_methods, reason = "tests stand outside what they test")]
pub(crate) fn ran(command: &str) -> Ran {
    // A separate folder for each command: its background processes must not write into the next one.
    let folder = tempfile::tempdir().unwrap();
    let (bin, work, log) = (folder.path().join("bin"), folder.path().join("work"), folder.path().join("log"));
    fs::create_dir(&work).unwrap();
    fs::write(&log, "").unwrap();
    put_shims(&bin, &log);
    // The shell itself records a program that is not in the folder.
    let missing = format!("() {{ echo \"$1\" >> '{}'\n}}", log.display());
    let done = Command::new("/bin/bash")
        .args(["-c", &format!("ulimit -t 5 -f 1000\n{command}")])
        .env_clear()
        .env("PATH", &bin)
        .env("BASH_FUNC_command_not_found_handle%%", missing)
        .current_dir(&work)
        .stdin(Stdio::null())
        .output();
    done.unwrap();
    let started = fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().to_string_lossy().into_owned();
    Ran { started, made: fs::read_dir(&work).unwrap().map(name).collect() }
}

/// One script with many names.
fn put_shims(bin: &Path, log: &Path) {
    fs::create_dir(bin).unwrap();
    let (log, runs) = (log.display(), WRAPPERS.join("|"));
    let script = format!(
        "#!/bin/sh\nname=${{0##*/}}\necho \"$name\" >> '{log}'\ncase $name in {runs}) exec \"/usr/bin/$name\" \"$@\";; esac\n"
    );
    let recorder = bin.join("recorder");
    fs::write(&recorder, script).unwrap();
    fs::set_permissions(&recorder, fs::Permissions::from_mode(0o755)).unwrap();
    for name in WRAPPERS.iter().chain(&PROGRAMS) {
        fs::hard_link(&recorder, bin.join(name)).unwrap();
    }
}

#[test]
fn shims_record_started_programs_only() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(started("alpha | beta; nobody-has-this"), names(&["alpha", "beta", "nobody-has-this"]));
    assert_eq!(started("env A=1 nice gamma && echo $(delta)"), names(&["env", "nice", "gamma", "delta"]));
    assert_eq!(started("bash -c 'zeta'; false && alpha"), names(&["bash", "zeta"]));
}
