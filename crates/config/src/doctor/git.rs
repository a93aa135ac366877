//! Checks of git and the repository. A repository is untrusted, and its settings can name programs that git runs, so no
//! check uses a git command that would run them.

use host::ExitStatus;

use super::DoctorCheck;
use super::programs::{ProgramFailure, ProgramOutput, ProgramRunner, first_line};

/// Repository settings that make git run a program.
const PROGRAM_SETTINGS: &str = r"^(filter\..*|core\.fsmonitor|core\.sshcommand|diff\..*|core\.worktree)$";

/// The oldest git version that checkouts and merges support.
const OLDEST_VERSION: (u32, u32) = (2, 38);

pub(super) async fn check(runner: &ProgramRunner<'_>) -> DoctorCheck {
    let remedy = "install git; without it, agents have no access to the history";
    let version = match runner.run("git", &["--version"]).await {
        Ok(ProgramOutput { status, text }) if status.is_success() => first_line(&text).replace("git version ", ""),
        Ok(ProgramOutput { status, .. }) => {
            return DoctorCheck::warn("git", format!("git does not work: {status}"), remedy);
        }
        Err(ProgramFailure::Missing) => return DoctorCheck::warn("git", "git was not found", remedy),
        Err(ProgramFailure::Other(reason)) => {
            return DoctorCheck::warn("git", format!("git does not answer: {reason}"), remedy);
        }
    };
    if is_too_old(&version) {
        let text = format!("{version} is too old for agents with their own checkouts");
        return DoctorCheck::warn("git", text, "install git 2.38 or newer");
    }
    match runner.run("git", &["rev-parse", "--is-inside-work-tree"]).await {
        Ok(ProgramOutput { status, .. }) if status.is_success() => {}
        Ok(_) | Err(_) if runner.context.project_dir.join(".git").exists() => {
            let text =
                format!("{version}, but it does not accept {} as a repository", runner.context.project_dir.display());
            return DoctorCheck::warn("git", text, "`git status` shows why");
        }
        Ok(_) | Err(_) => return DoctorCheck::note("git", format!("{version}, not in a repository")),
    }
    DoctorCheck::ok("git", format!("{version}, in a repository with {}", describe_changes(runner).await))
}

/// Whether a version is older than merges need; `false` if the version cannot be read.
pub fn is_too_old(version: &str) -> bool {
    let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
    matches!((parts.next(), parts.next()), (Some(major), Some(minor)) if (major, minor) < OLDEST_VERSION)
}

/// Describes how many files differ from the last commit.
async fn describe_changes(runner: &ProgramRunner<'_>) -> String {
    let settings = ["config", "--show-scope", "--includes", "--name-only", "--get-regexp", PROGRAM_SETTINGS];
    let is_safe = match runner.run("git", &settings).await {
        Ok(ProgramOutput { status: ExitStatus::Code(0), text }) => text.lines().all(is_user_setting),
        // None is set.
        Ok(ProgramOutput { status: ExitStatus::Code(1), text }) => text.is_empty(),
        // An old git does not report the scope of a setting.
        Ok(_) | Err(_) => false,
    };
    if !is_safe {
        return "changes not counted: its settings may name programs that git would run".into();
    }
    let status =
        ["-c", "core.fsmonitor=false", "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
    match runner.run("git", &status).await {
        Ok(ProgramOutput { status, text }) if status.is_success() => match text.matches('\0').count() {
            0 => "no changes".into(),
            1 => "1 changed file".into(),
            count => format!("{count} changed files"),
        },
        Ok(_) | Err(_) => "changes that could not be counted".into(),
    }
}

/// Whether a setting comes from the user or the machine rather than the repository.
fn is_user_setting(line: &str) -> bool {
    ["system\t", "global\t", "command\t"].iter().any(|scope| line.starts_with(scope))
}

#[cfg(test)]
mod tests {
    use super::is_too_old;

    #[test]
    fn old_git_versions_are_detected() {
        assert!(is_too_old("2.37.9") && is_too_old("1.9") && is_too_old("2.4.11"));
        assert!(!is_too_old("2.38.0") && !is_too_old("2.47.3.windows.1") && !is_too_old("3.0") && !is_too_old("odd"));
    }
}
