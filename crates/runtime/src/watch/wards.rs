//! The runs that are watched over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::Run;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tools::Pulse;

use super::Watch;
use super::silence::{Finding, Heard, Silence};
use crate::supervisor::Link;

/// The runs that are watched over.
#[derive(Debug, Default)]
pub(crate) struct Wards {
    runs: Mutex<HashMap<Run, Ward>>,
    /// Told when a run comes.
    came: Notify,
}

#[derive(Debug)]
struct Ward {
    pulse: Pulse,
    silence: Silence,
    stop: CancellationToken,
}

/// A run that is watched over until this is dropped.
#[derive(Debug)]
pub(crate) struct Stay {
    wards: Arc<Wards>,
    run: Run,
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.wards.lock().remove(&self.run);
    }
}

/// A run of which there is something to tell.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) run: Run,
    pub(super) finding: Finding,
    pub(super) stop: CancellationToken,
}

impl Wards {
    /// Watches over a run from now on.
    pub(crate) fn enter(self: &Arc<Self>, link: &Link) -> Stay {
        let (pulse, stop) = (link.pulse.clone(), link.stop.clone());
        self.lock().insert(link.run, Ward { pulse, silence: Silence::default(), stop });
        self.came.notify_one();
        Stay { wards: Arc::clone(self), run: link.run }
    }

    /// Waits until there is a run to watch over.
    pub(super) async fn occupied(&self) {
        while self.lock().is_empty() {
            self.came.notified().await;
        }
    }

    /// Looks at every run.
    pub(super) fn look(&self, watch: &Watch) -> Vec<Found> {
        let mut runs = self.lock();
        let found = runs.iter_mut().filter_map(|(run, ward)| {
            let heard = if ward.pulse.look() { Heard::Something } else { Heard::Nothing };
            let finding = ward.silence.look(heard, watch)?;
            Some(Found { run: *run, finding, stop: ward.stop.clone() })
        });
        found.collect()
    }

    /// Forgets the silence of a run that has a reason for it.
    pub(super) fn excuse(&self, run: Run) {
        if let Some(ward) = self.lock().get_mut(&run) {
            ward.silence = Silence::default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Run, Ward>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
