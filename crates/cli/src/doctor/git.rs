//! Git and the repository. A repository may come from anybody, and its own settings can name programs that git runs: git
//! is asked nothing that would run them.

use host::ExitStatus;

use super::DoctorCheck;
use super::programs::{ProgramFailure, ProgramOutput, ProgramRunner, first_line};

/// Settings of a repository that make git run something.
const PROGRAM_SETTINGS: &str = r"^(filter\..*|core\.fsmonitor|core\.sshcommand|diff\..*|core\.worktree)$";

/// The oldest git that can do what checkouts and merges need.
const OLDEST_VERSION: (u32, u32) = (2, 38);

pub(super) async fn check(starter: &ProgramRunner<'_>) -> DoctorCheck {
    let remedy = "install git; without it an agent cannot look at the history";
    let version = match starter.run("git", &["--version"]).await {
        Ok(ProgramOutput { status, text }) if status.is_success() => first_line(&text).replace("git version ", ""),
        Ok(ProgramOutput { status, .. }) => {
            return DoctorCheck::warn("git", format!("git does not work: {status}"), remedy);
        }
        Err(ProgramFailure::Missing) => return DoctorCheck::warn("git", "git was not found", remedy),
        Err(ProgramFailure::Other(why)) => {
            return DoctorCheck::warn("git", format!("git does not answer: {why}"), remedy);
        }
    };
    if is_old(&version) {
        let text = format!("{version} is too old for agents in checkouts of their own");
        return DoctorCheck::warn("git", text, "install git 2.38 or newer");
    }
    match starter.run("git", &["rev-parse", "--is-inside-work-tree"]).await {
        Ok(ProgramOutput { status, .. }) if status.is_success() => {}
        Ok(_) | Err(_) if starter.context.top.join(".git").exists() => {
            let text = format!("{version}, but it does not take {} for a repository", starter.context.top.display());
            return DoctorCheck::warn("git", text, "`git status` says why");
        }
        Ok(_) | Err(_) => return DoctorCheck::ok("git", format!("{version}, not in a repository")),
    }
    DoctorCheck::ok("git", format!("{version}, in a repository with {}", describe_changes(starter).await))
}

/// Whether a version is older than what merges can be tried with. One that cannot be read is not.
pub(crate) fn is_old(version: &str) -> bool {
    let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
    matches!((parts.next(), parts.next()), (Some(major), Some(minor)) if (major, minor) < OLDEST_VERSION)
}

/// How many files differ from the last commit.
async fn describe_changes(starter: &ProgramRunner<'_>) -> String {
    let settings = ["config", "--show-scope", "--includes", "--name-only", "--get-regexp", PROGRAM_SETTINGS];
    let harmless = match starter.run("git", &settings).await {
        Ok(ProgramOutput { status: ExitStatus::Code(0), text }) => text.lines().all(is_of_user),
        // None is set.
        Ok(ProgramOutput { status: ExitStatus::Code(1), text }) => text.is_empty(),
        // An old git does not tell whose a setting is.
        Ok(_) | Err(_) => false,
    };
    if !harmless {
        return "changes that were not counted: its own settings may name programs that git would run".into();
    }
    let status =
        ["-c", "core.fsmonitor=false", "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
    match starter.run("git", &status).await {
        Ok(ProgramOutput { status, text }) if status.is_success() => match text.matches('\0').count() {
            0 => "no changes".into(),
            1 => "1 changed file".into(),
            count => format!("{count} changed files"),
        },
        Ok(_) | Err(_) => "changes that could not be counted".into(),
    }
}

/// Whether a setting comes from the user or the machine, and not from the repository.
fn is_of_user(line: &str) -> bool {
    ["system\t", "global\t", "command\t"].iter().any(|scope| line.starts_with(scope))
}

#[cfg(test)]
mod tests {
    use super::is_old;

    #[test]
    fn an_old_git_is_known_by_its_version() {
        assert!(is_old("2.37.9") && is_old("1.9") && is_old("2.4.11"));
        assert!(!is_old("2.38.0") && !is_old("2.47.3.windows.1") && !is_old("3.0") && !is_old("odd"));
    }
}
