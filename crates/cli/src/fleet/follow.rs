//! Follows a fleet to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{EventStream, SessionHandle, SessionMessage, StoreError};
use config::Env;
use protocol::api::ParkingView;
use tokio::time::MissedTickBehavior;
use tui::signals::SignalListener;

use super::display::FleetDisplay;
use super::exit::FleetRunEnd;
use super::report::FleetReport;
use crate::args::RunArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::fault_injection;
use crate::foreground_session::ForegroundSession;
use crate::run::RunSummary;

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
    /// The fleet is not at work any more.
    Ended(FleetRunEnd),
    /// This process received a signal. The fleet can be resumed where it was.
    Interrupted,
    /// All workers wait for a quota, for longer than the caller allows.
    Parked,
    /// Its progress could not be written.
    Paused,
}

impl FollowOutcome {
    /// Returns `Paused` if a failed commit explains this outcome.
    fn or_paused(self, paused: Option<&Arc<StoreError>>) -> FollowOutcome {
        match (self, paused) {
            (FollowOutcome::Ended(FleetRunEnd::SessionEnded | FleetRunEnd::Broken(_)), Some(_))
            | (FollowOutcome::Interrupted | FollowOutcome::Parked | FollowOutcome::Paused, Some(_)) => {
                FollowOutcome::Paused
            }
            // This end is already in the log.
            (ended @ FollowOutcome::Ended(FleetRunEnd::Ended(..)), Some(_)) => ended,
            (followed, None) => followed,
        }
    }
}

/// Follows a fleet, shows its progress and reports its outcome.
pub(super) async fn follow(
    session: ForegroundSession,
    limits: FleetWaitLimits,
    display: FleetDisplay<'_>,
    env: &Env,
    args: &RunArgs,
) -> Result<CommandExit, CliError> {
    let mut signals = SignalListener::listen()?;
    let (started, home, id) = (Instant::now(), session.handle().home().clone(), session.id());
    let mut observer = FleetObserver { report: RunSummary::of_fleet(&session), display, env };
    let (mut events, pause) = (session.follow(), session.pause());
    let watcher = FleetWatcher { session: session.handle(), events: &mut events };
    let outcome = tokio::select! {
        biased;
        _signal = signals.next() => Ok(FollowOutcome::Interrupted),
        outcome = watcher.watch(limits, &mut observer) => outcome,
    };
    let outcome = match outcome {
        Err(_unread) if pause.reason().is_some() => FollowOutcome::Paused,
        outcome => outcome?,
    };
    let leave_result = tokio::select! {
        biased;
        leave_result = leave(session, &mut events, &mut observer) => leave_result,
        // A second signal skips the clean end; the session can be resumed without one.
        _again = signals.next() => return Ok(CommandExit::Cancelled),
    };
    // Read it after leaving, which commits too.
    let paused = pause.reason();
    if paused.is_none() {
        leave_result?;
    }
    let FleetObserver { report, mut display, .. } = observer;
    let outcome = outcome.or_paused(paused.as_ref());
    match &outcome {
        // Its view is empty; the error says everything.
        FollowOutcome::Ended(end) if end.is_unplanned() => display.discard(),
        FollowOutcome::Ended(_) | FollowOutcome::Interrupted | FollowOutcome::Parked | FollowOutcome::Paused => {
            display.end();
        }
    }
    let report = match (FleetReport::read(&home, id, outcome, paused.clone(), report, started), paused) {
        // A file that cannot be written may be unreadable too; the cause is the failed commit.
        (Err(_unread), Some(reason)) => return Err((*reason).clone().into()),
        (report, _) => report?,
    };
    report.write(args)
}

/// Passes a fleet's messages to the display and the report.
struct FleetObserver<'a> {
    report: RunSummary,
    display: FleetDisplay<'a>,
    env: &'a Env,
}

impl FleetObserver<'_> {
    fn observe(&mut self, message: &SessionMessage) {
        fault_injection::panic_if_requested(self.env.fault.as_deref(), message);
        self.report.apply(message);
        self.display.show_message(message);
    }
}

struct FleetWatcher<'a> {
    session: &'a SessionHandle,
    events: &'a mut EventStream,
}

impl FleetWatcher<'_> {
    /// Shows progress until the fleet ends or cannot continue.
    async fn watch(self, limits: FleetWaitLimits, observer: &mut FleetObserver<'_>) -> Result<FollowOutcome, CliError> {
        let mut last_event = Instant::now();
        let mut parked = None;
        let mut clock = tokio::time::interval(REDRAW_INTERVAL);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // Do not wait for a state that only a person can change.
            if matches!(parked, Some(ParkingView { until_at: None, .. })) {
                return Ok(FollowOutcome::Parked);
            }
            let park_time_left = limits.park.saturating_sub(last_event.elapsed());
            tokio::select! {
                biased;
                input = observer.display.next_input() => {
                    if observer.display.handle_input(input, self.session).await?.is_some() {
                        return Ok(FollowOutcome::Interrupted);
                    }
                }
                message = self.events.next() => match message? {
                    Some(SessionMessage::Status(status)) if status.paused.is_some() => {
                        return Ok(FollowOutcome::Paused);
                    }
                    Some(SessionMessage::Status(status)) if !status.fleet => {
                        return Ok(FollowOutcome::Ended(observer.report.take_fleet_end(status.fleet_failure)));
                    }
                    Some(SessionMessage::Status(status)) => parked = status.parked,
                    Some(message) => {
                        last_event = Instant::now();
                        observer.observe(&message);
                    }
                    None => return Ok(FollowOutcome::Ended(observer.report.take_fleet_end(None))),
                },
                _now = clock.tick() => observer.display.tick(),
                () = tokio::time::sleep(park_time_left) => {
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
async fn leave(
    session: ForegroundSession,
    events: &mut EventStream,
    observer: &mut FleetObserver<'_>,
) -> Result<(), CliError> {
    let left = session.leave().await;
    // The stream ends with the session, unless its last events cannot be read.
    while let Ok(Some(message)) = events.next().await {
        observer.observe(&message);
    }
    left?;
    Ok(())
}

/// The failed commit that paused a session.
pub(super) type PauseReason = Option<Arc<StoreError>>;
