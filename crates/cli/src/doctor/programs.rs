//! Programs that Bosun or its agents use: git, and what a sandbox is made of.
//!
//! A repository may come from anybody, and its own settings can name programs that git runs. So git is asked nothing
//! that would run them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use host::{ExitStatus, Guardian, Program, SpawnError, Stderr};
use tokio::io::AsyncReadExt;

use super::{Check, Scene};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(2);

/// Most bytes of its answer.
const MOST: u64 = 1 << 20;

/// Settings of a repository that make git run something.
const RUNNING: &str = r"^(filter\..*|core\.fsmonitor|core\.sshcommand|diff\..*|core\.worktree)$";

pub(super) async fn checks(scene: &Scene) -> Vec<Check> {
    let starter = Starter { guardian: Guardian::new(PathBuf::from("/proc/self/exe")), scene };
    let (git, sandbox) = tokio::join!(git(&starter), bubblewrap(&starter));
    vec![git, none_yet(), sandbox, landlock(), namespaces()]
}

async fn git(starter: &Starter<'_>) -> Check {
    let remedy = "install git; without it an agent cannot look at the history";
    let version = match starter.run("git", &["--version"]).await {
        Ok(Answer { status, text }) if status.is_success() => first_line(&text).replace("git version ", ""),
        Ok(Answer { status, .. }) => return Check::warn("git", format!("git does not work: {status}"), remedy),
        Err(Silence::Missing) => return Check::warn("git", "git was not found", remedy),
        Err(Silence::Other(why)) => return Check::warn("git", format!("git does not answer: {why}"), remedy),
    };
    match starter.run("git", &["rev-parse", "--is-inside-work-tree"]).await {
        Ok(Answer { status, .. }) if status.is_success() => {}
        Ok(_) | Err(_) if starter.scene.top.join(".git").exists() => {
            let text = format!("{version}, but it does not take {} for a repository", starter.scene.top.display());
            return Check::warn("git", text, "`git status` says why");
        }
        Ok(_) | Err(_) => return Check::ok("git", format!("{version}, not in a repository")),
    }
    Check::ok("git", format!("{version}, in a repository with {}", changes(starter).await))
}

/// How many files differ from the last commit.
async fn changes(starter: &Starter<'_>) -> String {
    let settings = ["config", "--show-scope", "--includes", "--name-only", "--get-regexp", RUNNING];
    let own = match starter.run("git", &settings).await {
        Ok(Answer { text, .. }) => text.lines().any(|line| line.starts_with("local") || line.starts_with("worktree")),
        Err(_) => true,
    };
    if own {
        return "changes that were not counted: its own settings name programs that git would run".into();
    }
    let status =
        ["-c", "core.fsmonitor=false", "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
    match starter.run("git", &status).await {
        Ok(Answer { status, text }) if status.is_success() => match text.matches('\0').count() {
            0 => "no changes".into(),
            1 => "1 changed file".into(),
            count => format!("{count} changed files"),
        },
        Ok(_) | Err(_) => "changes that could not be counted".into(),
    }
}

/// Nobody should take what follows for protection.
fn none_yet() -> Check {
    let text = "commands run without a sandbox; that comes later, and the next lines say what it would find here";
    Check::warn("sandbox", text, "permit only what you would run yourself")
}

async fn bubblewrap(starter: &Starter<'_>) -> Check {
    let found = match starter.run("bwrap", &["--unshare-all", "--ro-bind", "/", "/", "--", "true"]).await {
        Ok(Answer { status, .. }) if status.is_success() => "works for this user".to_owned(),
        Ok(Answer { status, text }) => format!("does not work for this user ({status}: {})", first_line(&text)),
        Err(Silence::Missing) => "was not found".to_owned(),
        Err(Silence::Other(why)) => format!("does not answer: {why}"),
    };
    Check::ok("sandbox", format!("bubblewrap {found}"))
}

/// Whether the kernel lets a process restrict itself to some files.
fn landlock() -> Check {
    let Ok(modules) = fs::read_to_string("/sys/kernel/security/lsm") else {
        return Check::ok("sandbox", "whether the kernel has Landlock cannot be seen here");
    };
    let on = modules.trim().split(',').any(|module| module == "landlock");
    match (on, abi(&release())) {
        (true, Some(abi)) => Check::ok("sandbox", format!("Landlock is on, with ABI {abi} by the kernel's version")),
        (true, None) => Check::ok("sandbox", "Landlock is on"),
        (false, _) => Check::ok("sandbox", "Landlock is off"),
    }
}

fn namespaces() -> Check {
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let off = [
        ("user.max_user_namespaces", number("/proc/sys/user/max_user_namespaces") == Some(0)),
        ("kernel.unprivileged_userns_clone", number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0)),
        (
            "kernel.apparmor_restrict_unprivileged_userns",
            number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1),
        ),
    ];
    match off.iter().find(|(_, off)| *off) {
        Some((name, _)) => Check::ok("sandbox", format!("user namespaces are closed by {name}")),
        None => Check::ok("sandbox", "user namespaces are open"),
    }
}

/// The kernel's version.
pub(super) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_hidden| "unknown".into(), |text| text.trim().to_owned())
}

/// The newest Landlock ABI that a kernel of this version has without patches.
fn abi(release: &str) -> Option<u32> {
    const SINCE: [((u32, u32), u32); 7] =
        [((6, 15), 7), ((6, 12), 6), ((6, 10), 5), ((6, 7), 4), ((6, 2), 3), ((5, 19), 2), ((5, 13), 1)];
    let mut parts = release.split(['.', '-']).map_while(|part| part.parse().ok());
    let version = (parts.next()?, parts.next()?);
    SINCE.into_iter().find(|(since, _)| version >= *since).map(|(_, abi)| abi)
}

fn first_line(text: &str) -> String {
    crate::print::one_line(text.lines().next().unwrap_or_default(), 100)
}

/// Starts programs that end with this process.
struct Starter<'a> {
    guardian: Guardian,
    scene: &'a Scene,
}

/// What a program said.
struct Answer {
    status: ExitStatus,
    text: String,
}

/// Why it said nothing.
enum Silence {
    Missing,
    Other(String),
}

impl Starter<'_> {
    async fn run(&self, name: &str, args: &[&str]) -> Result<Answer, Silence> {
        // Programs get nothing that may be a key; git is told to write no index and to ask no other machine.
        let env = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, self.scene.env.text(name)?)));
        let mut program = Program::new(name, &self.scene.cwd).args(args.iter().copied());
        program = env.fold(program, |program, (name, value)| program.env(name, value));
        program = program.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_ALLOW_PROTOCOL", "none");
        program.stderr = Stderr::Merge;
        match tokio::time::timeout(LIMIT, self.hear(program)).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(Silence::Other(format!("nothing for {} s", LIMIT.as_secs()))),
        }
    }

    async fn hear(&self, program: Program) -> Result<Answer, Silence> {
        let mut process = self.guardian.spawn(program).await.map_err(|error| match error {
            SpawnError::ProgramMissing(_) => Silence::Missing,
            error => Silence::Other(error.to_string()),
        })?;
        let mut said = Vec::new();
        let other = |error: &dyn std::fmt::Display| Silence::Other(error.to_string());
        (&mut process.output).take(MOST).read_to_end(&mut said).await.map_err(|error| other(&error))?;
        let exit = process.wait().await.map_err(|error| other(&error))?;
        Ok(Answer { status: exit.status, text: String::from_utf8_lossy(&said).into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_abi_follows_from_the_kernel_s_version() {
        assert_eq!(abi("6.18.5-cloud"), Some(7));
        assert_eq!(abi("6.8.0-41-generic"), Some(4));
        assert_eq!(abi("5.13"), Some(1));
        assert_eq!(abi("4.19.0"), None);
        assert_eq!(abi("unknown"), None);
    }
}
