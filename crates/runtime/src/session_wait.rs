//! Waits in the owner's process until a run is over, by the rules that every client shares.

use std::time::Instant;

use client::{BackgroundWork, RunDue, RunWaitLimits, RunWatch};
use protocol::api::SessionWaitEnd;
use store::StoreError;
use tokio::sync::watch;

use crate::bus::Subscription;
use crate::session::SessionStatus;

/// A wait for the end of a run.
pub(crate) struct SessionWait {
    pub(crate) status: watch::Receiver<SessionStatus>,
    /// The events from now on: agents are waited for since their last one.
    pub(crate) events: Subscription,
    pub(crate) limits: RunWaitLimits,
}

impl SessionWait {
    /// Waits until the run is over, or its background work takes longer than allowed.
    pub(crate) async fn until_over(
        mut self,
        work: impl Fn() -> Result<BackgroundWork, StoreError>,
    ) -> Result<SessionWaitEnd, StoreError> {
        let mut watch = RunWatch::new(self.limits, Instant::now());
        loop {
            watch.note_phase(self.status.borrow_and_update().phase(), Instant::now());
            match watch.due(Instant::now(), &work)? {
                RunDue::Nothing => {}
                RunDue::Overdue(_work) => return Ok(SessionWaitEnd::Background),
                RunDue::Over(end) => return Ok(end),
            }
            tokio::select! {
                changed = self.status.changed() => if changed.is_err() { return Ok(SessionWaitEnd::Quiet) },
                event = self.events.next() => match event {
                    Ok(Some(_event)) => watch.note_event(Instant::now()),
                    Ok(None) => return Ok(SessionWaitEnd::Quiet),
                    Err(error) => return Err(error),
                },
                () = watch.until_due() => {}
            }
        }
    }
}
