//! Follows a fleet to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::Env;
use runtime::{BusMessage, FleetHandle, FleetOutcome, Parking, Session, Subscription};
use store::StoreError;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::display::FleetDisplay;
use super::report::FleetReport;
use crate::args::RunArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fault_injection;
use crate::run::{RunSummary, SignalListener};

/// The minimum interval between redraws.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// How long to wait for a fleet that cannot continue by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct FleetWaitLimits {
    /// For a quota to reset.
    pub(super) park: Duration,
}

/// Why following the fleet ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FollowOutcome {
    /// The fleet ended.
    Ended(FleetOutcome),
    /// This process received a signal. The fleet can be resumed where it was.
    Interrupted,
    /// All workers wait for a quota, for longer than the caller allows.
    Parked,
    /// Its progress could not be written.
    Paused,
}

impl FollowOutcome {
    /// Returns `Paused` if a failed commit explains the end: an end after a failed commit is a consequence of it.
    fn unless_paused(self, paused: Option<&Arc<StoreError>>) -> FollowOutcome {
        match (self, paused) {
            (FollowOutcome::Ended(FleetOutcome::SessionEnded | FleetOutcome::Broken(_)), Some(_))
            | (FollowOutcome::Interrupted | FollowOutcome::Parked | FollowOutcome::Paused, Some(_)) => {
                FollowOutcome::Paused
            }
            // These ends are already in the log.
            (
                ended @ FollowOutcome::Ended(
                    FleetOutcome::Ended(_) | FleetOutcome::Halted(_) | FleetOutcome::Unplanned(_),
                ),
                Some(_),
            ) => ended,
            (followed, None) => followed,
        }
    }
}

/// Follows a fleet, shows its progress and reports its outcome.
pub(super) async fn follow(
    session: Session,
    fleet: FleetHandle,
    limits: FleetWaitLimits,
    display: FleetDisplay<'_>,
    env: &Env,
    args: &RunArgs,
) -> Result<CommandExit, CliError> {
    let mut signals = SignalListener::listen()?;
    let (began, home, id) = (Instant::now(), session.home().clone(), session.id());
    let mut shown = FleetObserver { report: RunSummary::new(&session), display, env };
    let mut events = session.subscribe(session.first_seq());
    let mut status = session.status();
    let watched = FleetWatcher { session: &session, events: &mut events, status: &mut status };
    let followed = tokio::select! {
        biased;
        _signal = signals.next() => Ok(FollowOutcome::Interrupted),
        followed = watched.watch(fleet, limits, &mut shown) => followed,
    };
    let followed = match followed {
        Err(_unread) if status.borrow().paused.is_some() => FollowOutcome::Paused,
        followed => followed?,
    };
    let merging = session.merger();
    let left = tokio::select! {
        biased;
        left = leave(session, &mut events, &mut shown) => left,
        // A second signal skips the clean end; the session can be resumed without one.
        _again = signals.next() => return Ok(CommandExit::Cancelled),
    };
    // Read it after leaving, which commits too.
    let paused = status.borrow().paused.clone();
    if paused.is_none() {
        left?;
    }
    let FleetObserver { report, mut display, .. } = shown;
    display.end();
    let followed = followed.unless_paused(paused.as_ref());
    let report = match (FleetReport::read(&home, id, followed, paused.clone(), report, began), paused) {
        // A file that cannot be written may be unreadable too; the cause is the failed commit.
        (Err(_unread), Some(reason)) => return Err((*reason).clone().into()),
        (report, _) => report?,
    };
    report.with_merge_summary(merging.summary()).write(args)
}

/// Passes a fleet's messages to the display and the report.
struct FleetObserver<'a> {
    report: RunSummary,
    display: FleetDisplay<'a>,
    env: &'a Env,
}

impl FleetObserver<'_> {
    fn observe(&mut self, live: &BusMessage) {
        fault_injection::panic_if_requested(self.env.fault.as_deref(), live);
        self.report.apply(live);
        self.display.show_live(live);
    }
}

struct FleetWatcher<'a> {
    session: &'a Session,
    events: &'a mut Subscription,
    status: &'a mut watch::Receiver<runtime::SessionStatus>,
}

impl FleetWatcher<'_> {
    /// Shows progress until the fleet ends or cannot continue.
    async fn watch(
        self,
        mut fleet: FleetHandle,
        limits: FleetWaitLimits,
        shown: &mut FleetObserver<'_>,
    ) -> Result<FollowOutcome, CliError> {
        let mut last_event = Instant::now();
        let mut clock = tokio::time::interval(REDRAW_INTERVAL);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let parked = {
                let status = self.status.borrow_and_update();
                if status.paused.is_some() {
                    return Ok(FollowOutcome::Paused);
                }
                status.parked
            };
            // Do not wait for a state that only a person can change.
            if matches!(parked, Some(Parking { until: None, .. })) {
                return Ok(FollowOutcome::Parked);
            }
            let quiet = limits.park.saturating_sub(last_event.elapsed());
            tokio::select! {
                biased;
                input = shown.display.next_input() => {
                    if shown.display.handle_input(input, self.session).await?.is_some() {
                        return Ok(FollowOutcome::Interrupted);
                    }
                }
                live = self.events.next() => {
                    if let Some(live) = live? {
                        last_event = Instant::now();
                        shown.observe(&live);
                    }
                }
                outcome = fleet.wait() => return Ok(FollowOutcome::Ended(outcome)),
                changed = self.status.changed() => {
                    if changed.is_err() {
                        return Ok(FollowOutcome::Ended(FleetOutcome::SessionEnded));
                    }
                }
                _now = clock.tick() => shown.display.tick(),
                () = tokio::time::sleep(quiet) => {
                    if parked.is_some() {
                        return Ok(FollowOutcome::Parked);
                    }
                    last_event = Instant::now();
                }
            }
        }
    }
}

/// Leaves the session and shows its last events.
async fn leave(session: Session, events: &mut Subscription, shown: &mut FleetObserver<'_>) -> Result<(), CliError> {
    let left = session.leave().await;
    while let Ok(Some(live @ BusMessage::Event(_))) =
        tokio::time::timeout(Duration::ZERO, events.next()).await.unwrap_or(Ok(None))
    {
        shown.observe(&live);
    }
    left?;
    Ok(())
}

/// The failed commit that paused a session.
pub(super) type PauseReason = Option<Arc<StoreError>>;
