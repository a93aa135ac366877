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

/// How often the view may be drawn again.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// How long a fleet is waited for that cannot go on by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct FleetWaitLimits {
    /// For a quota to reset.
    pub(super) park: Duration,
}

/// Why nobody follows the fleet any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FollowOutcome {
    /// It ended.
    Ended(FleetOutcome),
    /// This process was told to end. The fleet goes on where it was when somebody goes on with it.
    Interrupted,
    /// Everybody waits for a quota, for longer than the caller does.
    Parked,
    /// What it did could not be written.
    Paused,
}

impl FollowOutcome {
    /// The same, unless a pause explains it: whatever ends a fleet after a commit failed is its consequence.
    fn unless_paused(self, paused: Option<&Arc<StoreError>>) -> FollowOutcome {
        match (self, paused) {
            (FollowOutcome::Ended(FleetOutcome::SessionEnded | FleetOutcome::Broken(_)), Some(_))
            | (FollowOutcome::Interrupted | FollowOutcome::Parked | FollowOutcome::Paused, Some(_)) => {
                FollowOutcome::Paused
            }
            // These ends are in the log.
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

/// Follows a fleet, tells what happens, and reports how it ended.
pub(super) async fn follow(
    session: Session,
    fleet: FleetHandle,
    patience: FleetWaitLimits,
    lines: FleetDisplay<'_>,
    env: &Env,
    args: &RunArgs,
) -> Result<CommandExit, CliError> {
    let mut signals = SignalListener::listen()?;
    let (began, home, id) = (Instant::now(), session.home().clone(), session.id());
    let mut shown = FleetObserver { report: RunSummary::new(&session), display: lines, env };
    let mut events = session.subscribe(session.first_seq());
    let mut status = session.status();
    let watched = FleetWatcher { session: &session, events: &mut events, status: &mut status };
    let followed = tokio::select! {
        biased;
        _signal = signals.next() => Ok(FollowOutcome::Interrupted),
        followed = watched.watch(fleet, patience, &mut shown) => followed,
    };
    let followed = match followed {
        Err(_unread) if status.borrow().paused.is_some() => FollowOutcome::Paused,
        followed => followed?,
    };
    let merging = session.merger();
    let left = tokio::select! {
        biased;
        left = leave(session, &mut events, &mut shown) => left,
        // Whoever asks twice does not want to wait for a clean end; the session can go on without one.
        _again = signals.next() => return Ok(CommandExit::Cancelled),
    };
    // After the end, which has commits of its own.
    let paused = status.borrow().paused.clone();
    if paused.is_none() {
        left?;
    }
    let FleetObserver { report, display: mut lines, .. } = shown;
    lines.end();
    let followed = followed.unless_paused(paused.as_ref());
    let report = match (FleetReport::read(&home, id, followed, paused.clone(), report, began), paused) {
        // A file that cannot be written may be unreadable too; why it was paused is the reason.
        (Err(_unread), Some(reason)) => return Err((*reason).clone().into()),
        (report, _) => report?,
    };
    report.with_merge_summary(merging.summary()).write(args)
}

/// What is told of a fleet: to a person, and in the report.
struct FleetObserver<'a> {
    report: RunSummary,
    display: FleetDisplay<'a>,
    env: &'a Env,
}

impl FleetObserver<'_> {
    fn observe(&mut self, live: &BusMessage) {
        fault_injection::panic_if_ordered(self.env.fault.as_deref(), live);
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
    /// Tells what happens until the fleet ends, or cannot go on.
    async fn watch(
        self,
        mut fleet: FleetHandle,
        patience: FleetWaitLimits,
        shown: &mut FleetObserver<'_>,
    ) -> Result<FollowOutcome, CliError> {
        let mut heard = Instant::now();
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
            // What only a person can change is not waited for.
            if matches!(parked, Some(Parking { until: None, .. })) {
                return Ok(FollowOutcome::Parked);
            }
            let quiet = patience.park.saturating_sub(heard.elapsed());
            tokio::select! {
                biased;
                typed = shown.display.next_input() => {
                    if shown.display.handle_input(typed, self.session).await?.is_some() {
                        return Ok(FollowOutcome::Interrupted);
                    }
                }
                live = self.events.next() => {
                    if let Some(live) = live? {
                        heard = Instant::now();
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
                    heard = Instant::now();
                }
            }
        }
    }
}

/// Leaves the session, and tells what its end brought.
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

/// Why a session is paused.
pub(super) type PauseReason = Option<Arc<StoreError>>;
