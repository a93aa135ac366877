//! Makes this process the one session host of its home, or finds the process that is.

use std::time::Duration;

use client::HostClient;
use host::{FileLock, Home};
use protocol::api::{HandOver, HostView, Nothing, ProgramFile, calls};
use server::HOST_LOCK;
use tokio::time::Instant;

use crate::args::ServeArgs;
use crate::error::CliError;

/// How long another host may take to answer, or to end after it handed over.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a host that starts or ends is looked at.
const CLAIM_POLL: Duration = Duration::from_millis(20);

/// From which hosts this process takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeoverPolicy {
    /// From one that runs an older program.
    Outdated,
    /// From one without an HTTP server, which a command has started.
    OnDemand,
    /// From any.
    Any,
}

impl TakeoverPolicy {
    pub(super) fn of(args: &ServeArgs) -> TakeoverPolicy {
        match (args.replace, args.on_demand) {
            (true, _) => TakeoverPolicy::Any,
            (false, true) => TakeoverPolicy::Outdated,
            (false, false) => TakeoverPolicy::OnDemand,
        }
    }

    fn takes_over(self, host: &HostView, program: &ProgramFile) -> bool {
        match self {
            TakeoverPolicy::Outdated => is_outdated(host, program),
            TakeoverPolicy::OnDemand => host.url.is_none(),
            TakeoverPolicy::Any => true,
        }
    }
}

/// Whether a host runs an older program than this one: an earlier version, or a file that was replaced by this one.
pub(super) fn is_outdated(host: &HostView, program: &ProgramFile) -> bool {
    let is_replaced = host.program.path == program.path
        && (host.program.device, host.program.inode) != (program.device, program.inode);
    is_replaced || version_parts(&host.version) < version_parts(env!("CARGO_PKG_VERSION"))
}

fn version_parts(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The session host of a home.
#[derive(Debug)]
pub(super) enum HostClaim {
    /// This process.
    Claimed {
        /// Held as long as the process is the host.
        lock: FileLock,
        /// What an earlier host handed over.
        inherited: HandOver,
    },
    /// Another process, which stays it.
    Runs(HostView),
}

/// Becomes the session host of a home. A host that this process takes over from ends first.
pub(super) async fn claim(home: &Home, policy: TakeoverPolicy, program: &ProgramFile) -> Result<HostClaim, CliError> {
    let began = Instant::now();
    let mut inherited = HandOver::default();
    let mut asked = None;
    loop {
        if let Some(lock) = home.try_lock(HOST_LOCK)? {
            return Ok(HostClaim::Claimed { lock, inherited });
        }
        if let Some((client, view)) = connect(home).await? {
            if !policy.takes_over(&view, program) {
                return Ok(HostClaim::Runs(view));
            }
            if asked != Some(view.pid)
                && let Ok(handed_over) = client.call::<calls::HostHandOver>(&Nothing {}).await
            {
                (inherited, asked) = (handed_over, Some(view.pid));
            }
        }
        if began.elapsed() > CLAIM_TIMEOUT {
            let holder = asked.map_or_else(|| "another session host".to_owned(), |pid| format!("session host {pid}"));
            return Err(CliError::failed(format!("{holder} does not end")).with_hint("end that process, and try again"));
        }
        tokio::time::sleep(CLAIM_POLL).await;
    }
}

/// Connects to the host; none if there is none, or if it is about to end.
pub(super) async fn connect(home: &Home) -> Result<Option<(HostClient, HostView)>, CliError> {
    HostClient::running(home).await.map_err(CliError::failed)
}

#[cfg(test)]
mod tests {
    use protocol::Timestamp;

    use super::*;

    fn program(path: &str, inode: u64) -> ProgramFile {
        ProgramFile { path: path.into(), device: 1, inode }
    }

    fn host(version: &str, program: ProgramFile) -> HostView {
        HostView {
            pid: 1,
            version: version.into(),
            program,
            started_at: Timestamp(0),
            url: None,
            sessions: Vec::new(),
            not_adopted: Vec::new(),
        }
    }

    #[test]
    fn a_host_is_outdated_if_its_program_was_replaced_or_is_an_earlier_version() {
        let own = program("/usr/bin/bosun", 7);
        let current = env!("CARGO_PKG_VERSION");
        assert!(!is_outdated(&host(current, own.clone()), &own));
        assert!(is_outdated(&host(current, program("/usr/bin/bosun", 6)), &own));
        assert!(!is_outdated(&host(current, program("/home/me/bosun", 6)), &own), "two installations");
        assert!(is_outdated(&host("0.0.9", program("/home/me/bosun", 6)), &own));
        assert!(!is_outdated(&host("99.0.0", program("/home/me/bosun", 6)), &own));
    }
}
