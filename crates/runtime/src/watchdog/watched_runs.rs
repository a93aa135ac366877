//! The runs that the watchdog checks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::RunId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tools::Heartbeat;

use super::WatchdogSettings;
use super::silence::{RunActivity, SilenceTracker, StallFinding};
use crate::supervisor::RunLink;

/// The runs that the watchdog checks.
#[derive(Debug, Default)]
pub(crate) struct WatchedRuns {
    runs: Mutex<HashMap<RunId, WatchedRun>>,
    /// Notified when a run is added.
    run_added: Notify,
}

#[derive(Debug)]
struct WatchedRun {
    heartbeat: Heartbeat,
    silence: SilenceTracker,
    stop: CancellationToken,
}

/// A run that is watched until this is dropped.
#[derive(Debug)]
pub(crate) struct WatchGuard {
    watched_runs: Arc<WatchedRuns>,
    run: RunId,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.watched_runs.lock().remove(&self.run);
    }
}

/// A finding to report, and its run.
#[derive(Debug)]
pub(super) struct WatchFinding {
    pub(super) run: RunId,
    pub(super) finding: StallFinding,
    pub(super) stop: CancellationToken,
}

impl WatchedRuns {
    /// Watches a run from now on.
    pub(crate) fn watch(self: &Arc<Self>, link: &RunLink) -> WatchGuard {
        let (pulse, stop) = (link.heartbeat.clone(), link.stop.clone());
        self.lock().insert(link.run, WatchedRun { heartbeat: pulse, silence: SilenceTracker::default(), stop });
        self.run_added.notify_one();
        WatchGuard { watched_runs: Arc::clone(self), run: link.run }
    }

    /// Waits until there is a run to watch.
    pub(super) async fn wait_for_run(&self) {
        while self.lock().is_empty() {
            self.run_added.notified().await;
        }
    }

    /// Checks every run.
    pub(super) fn check_all(&self, settings: &WatchdogSettings) -> Vec<WatchFinding> {
        let mut runs = self.lock();
        let findings = runs.iter_mut().filter_map(|(run, watched)| {
            let activity = if watched.heartbeat.check_alive() { RunActivity::Active } else { RunActivity::Silent };
            let finding = watched.silence.record_check(activity, settings)?;
            Some(WatchFinding { run: *run, finding, stop: watched.stop.clone() })
        });
        findings.collect()
    }

    /// Resets the silence of a run that has a reason for it.
    pub(super) fn reset_silence(&self, run: RunId) {
        if let Some(watched) = self.lock().get_mut(&run) {
            watched.silence = SilenceTracker::default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, WatchedRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
