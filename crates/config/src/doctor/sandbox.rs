//! Checks of what a sandbox would need. There is no sandbox yet, and the doctor says so.

use std::fs;

use super::DoctorCheck;
use super::programs::{ProgramFailure, ProgramOutput, ProgramRunner, first_line};

pub(super) async fn checks(runner: &ProgramRunner<'_>) -> Vec<DoctorCheck> {
    vec![no_sandbox_warning(), bubblewrap(runner).await, landlock(), namespaces()]
}

/// Warns that there is no sandbox, so that the following checks do not look like protection.
fn no_sandbox_warning() -> DoctorCheck {
    let text = "commands run without a sandbox, which comes later; the next lines show what it could use here";
    DoctorCheck::warn("sandbox", text, "allow only what you would run yourself")
}

async fn bubblewrap(runner: &ProgramRunner<'_>) -> DoctorCheck {
    let state = match runner.run("bwrap", &["--unshare-all", "--ro-bind", "/", "/", "--", "true"]).await {
        Ok(ProgramOutput { status, .. }) if status.is_success() => {
            return DoctorCheck::ok("sandbox", "bubblewrap works for this user");
        }
        Ok(ProgramOutput { status, text }) => format!("does not work for this user ({status}: {})", first_line(&text)),
        Err(ProgramFailure::Missing) => "was not found".to_owned(),
        Err(ProgramFailure::Other(reason)) => format!("does not answer: {reason}"),
    };
    DoctorCheck::note("sandbox", format!("bubblewrap {state}"))
}

/// Checks whether the kernel has Landlock, with which a process restricts itself to some files.
fn landlock() -> DoctorCheck {
    let Ok(modules) = fs::read_to_string("/sys/kernel/security/lsm") else {
        return DoctorCheck::note("sandbox", "it is unknown whether the kernel has Landlock");
    };
    let on = modules.trim().split(',').any(|module| module == "landlock");
    match (on, landlock_abi(&kernel_release())) {
        (true, Some(abi)) => {
            DoctorCheck::ok("sandbox", format!("Landlock is on, with ABI {abi} according to the kernel version"))
        }
        (true, None) => DoctorCheck::ok("sandbox", "Landlock is on"),
        (false, _) => DoctorCheck::note("sandbox", "Landlock is off"),
    }
}

fn namespaces() -> DoctorCheck {
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
        Some((name, _)) => DoctorCheck::note("sandbox", format!("user namespaces are disabled by {name}")),
        None => DoctorCheck::ok("sandbox", "user namespaces are enabled"),
    }
}

/// The kernel's version.
pub(super) fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_hidden| "unknown".into(), |text| text.trim().to_owned())
}

/// The newest Landlock ABI that a kernel of this version has without patches.
fn landlock_abi(release: &str) -> Option<u32> {
    const SINCE: [((u32, u32), u32); 7] =
        [((6, 15), 7), ((6, 12), 6), ((6, 10), 5), ((6, 7), 4), ((6, 2), 3), ((5, 19), 2), ((5, 13), 1)];
    let mut parts = release.split(['.', '-']).map_while(|part| part.parse().ok());
    let version = (parts.next()?, parts.next()?);
    SINCE.into_iter().find(|(since, _)| version >= *since).map(|(_, abi)| abi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landlock_abi_follows_from_the_kernel_version() {
        assert_eq!(landlock_abi("6.18.5-cloud"), Some(7));
        assert_eq!(landlock_abi("6.8.0-41-generic"), Some(4));
        assert_eq!(landlock_abi("5.13"), Some(1));
        assert_eq!(landlock_abi("4.19.0"), None);
        assert_eq!(landlock_abi("unknown"), None);
    }
}
