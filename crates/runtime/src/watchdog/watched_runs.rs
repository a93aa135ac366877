//! The runs that are watched over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::RunId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tools::Heartbeat;

use super::WatchdogSettings;
use super::silence::{RunActivity, SilenceTracker, StallFinding};
use crate::supervisor::RunLink;

/// The runs that are watched over.
#[derive(Debug, Default)]
pub(crate) struct WatchedRuns {
    runs: Mutex<HashMap<RunId, WatchedRun>>,
    /// Told when a run comes.
    run_added: Notify,
}

#[derive(Debug)]
struct WatchedRun {
    pulse: Heartbeat,
    silence: SilenceTracker,
    stop: CancellationToken,
}

/// A run that is watched over until this is dropped.
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

/// A run of which there is something to tell.
#[derive(Debug)]
pub(super) struct WatchFinding {
    pub(super) run: RunId,
    pub(super) finding: StallFinding,
    pub(super) stop: CancellationToken,
}

impl WatchedRuns {
    /// Watches over a run from now on.
    pub(crate) fn watch(self: &Arc<Self>, link: &RunLink) -> WatchGuard {
        let (pulse, stop) = (link.pulse.clone(), link.stop.clone());
        self.lock().insert(link.run, WatchedRun { pulse, silence: SilenceTracker::default(), stop });
        self.run_added.notify_one();
        WatchGuard { watched_runs: Arc::clone(self), run: link.run }
    }

    /// Waits until there is a run to watch over.
    pub(super) async fn wait_for_run(&self) {
        while self.lock().is_empty() {
            self.run_added.notified().await;
        }
    }

    /// Looks at every run.
    pub(super) fn look(&self, watch: &WatchdogSettings) -> Vec<WatchFinding> {
        let mut runs = self.lock();
        let found = runs.iter_mut().filter_map(|(run, ward)| {
            let heard = if ward.pulse.check_alive() { RunActivity::Active } else { RunActivity::Silent };
            let finding = ward.silence.look(heard, watch)?;
            Some(WatchFinding { run: *run, finding, stop: ward.stop.clone() })
        });
        found.collect()
    }

    /// Forgets the silence of a run that has a reason for it.
    pub(super) fn reset_silence(&self, run: RunId) {
        if let Some(ward) = self.lock().get_mut(&run) {
            ward.silence = SilenceTracker::default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, WatchedRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
