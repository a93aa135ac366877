//! Follows a session to the end of its run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::StoreError;
use config::Env;
use protocol::CancelBy;
use protocol::api::{ParkingView, RunPhase};
use runtime::{BusMessage, Session, SessionStatus, Subscription};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::background::{BackgroundWait, BackgroundWaitDecision, BackgroundWaitTimes, BackgroundWork};
use super::report::{RunEnd, RunSummary};
use super::screen::RunScreen;
use super::signals::{RunSignal, SignalListener};
use crate::error::CliError;
use crate::fault_injection;

/// How long to wait before stopped work is checked again.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a run waits for work and quotas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunWaitLimits {
    /// For background work after the answer.
    pub(crate) background: BackgroundWait,
    /// For a quota to reset.
    pub(crate) park: Duration,
    /// For the whole run, if limited. Agents at work stop at this limit by themselves; here it limits the wait for a
    /// quota.
    pub(crate) time: Option<Duration>,
}

/// The interval of ticks while nothing happens.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// Follows the session until nothing is left to do, it is stopped, or a wait limit is reached; then leaves it. Passes
/// every message to the screen once and in order, and handles the user's input there.
pub(super) async fn drive_session(
    session: Session,
    limits: RunWaitLimits,
    screen: &mut RunScreen<'_>,
    env: &Env,
) -> Result<RunSummary, CliError> {
    let mut report = RunSummary::new(&session);
    let mut events = session.subscribe(session.first_seq());
    let mut status = session.status();
    let mut signals = SignalListener::listen()?;
    let mut clock = tokio::time::interval(TICK_INTERVAL);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut current_wait, mut wait_began) = (RunWait::Work, Instant::now());
    let (mut last_event, mut check_at) = (Instant::now(), Instant::now());
    let ended = loop {
        let wait = RunWait::from_status(&status.borrow_and_update());
        // The limits count from the start of the current wait.
        if current_wait != wait {
            (current_wait, wait_began) = (wait, Instant::now());
            // The wait cannot end before this time.
            check_at = wait_began + limits.background.minimum().min(limits.park);
        }
        let time_left = limits.time.map(|time| time.saturating_sub(report.started_at.elapsed()));
        let park_left = limits.park.saturating_sub(wait_began.elapsed());
        let deadline = wait.deadline(check_at, time_left.map_or(park_left, |time| time.min(park_left)));
        tokio::select! {
            biased;
            signal = signals.next() => {
                if let Some(ended) = handle_signal(signal, &session, &mut report).await? {
                    break ended;
                }
            }
            input = screen.next_input() => {
                let signal = screen.handle_input(input, &session).await?;
                if let Some(signal) = signal
                    && let Some(ended) = handle_signal(signal, &session, &mut report).await?
                {
                    break ended;
                }
            }
            message = events.next() => match message {
                Ok(Some(message)) => {
                    last_event = Instant::now();
                    report.apply(&message);
                    fault_injection::panic_if_requested(env.fault.as_deref(), &message);
                    screen.handle_message(&message);
                }
                Ok(None) => {}
                // Keep the report so far instead of returning the error.
                Err(error) => {
                    report.paused = Some(Arc::new(error));
                    break RunEnd::Paused;
                }
            },
            _now = clock.tick() => screen.tick(Instant::now()),
            changed = status.changed() => if changed.is_err() { break RunEnd::NothingLeft },
            () = deadline => match wait {
                RunWait::Background => {
                    let work = match BackgroundWork::read(&session) {
                        Ok(work) => work,
                        Err(error) => {
                            report.paused = Some(Arc::new(error));
                            break RunEnd::Paused;
                        }
                    };
                    let times = BackgroundWaitTimes { answered_at: wait_began, last_event_at: last_event };
                    match work.decide(limits.background, times, Instant::now()) {
                        BackgroundWaitDecision::Wait(until) => check_at = until,
                        // All at once: if tasks ended one by one, each end would wake the root.
                        BackgroundWaitDecision::Stop => {
                            report.note_stopped(work);
                            session.stop(CancelBy::SessionEnd).await?;
                            check_at = Instant::now() + RECHECK_INTERVAL;
                        }
                    }
                }
                RunWait::Person => break RunEnd::Parked,
                RunWait::Quota if time_left.is_some_and(|time| time < park_left) => break RunEnd::TimeUp,
                RunWait::Quota => break RunEnd::Parked,
                RunWait::Nothing => break RunEnd::NothingLeft,
                RunWait::Work => {}
                RunWait::Paused => break RunEnd::Paused,
            },
        }
    };
    leave_session(session, ended, report, events, status, screen).await
}

/// What the run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunWait {
    /// The root's answer.
    Work,
    /// Background work, after the answer.
    Background,
    /// A quota that any task of the tree has run into.
    Quota,
    /// A condition that only a person can change, such as an invalid API key.
    Person,
    /// Nothing: the run is over.
    Nothing,
    /// Nothing: the run cannot continue.
    Paused,
}

impl RunWait {
    fn from_status(status: &SessionStatus) -> RunWait {
        match status.phase() {
            RunPhase::Working => RunWait::Work,
            RunPhase::Background => RunWait::Background,
            RunPhase::Parked(ParkingView { until_at: None, .. }) => RunWait::Person,
            RunPhase::Parked(ParkingView { until_at: Some(_), .. }) => RunWait::Quota,
            RunPhase::Quiet => RunWait::Nothing,
            RunPhase::Paused => RunWait::Paused,
        }
    }

    async fn deadline(self, check_at: Instant, quota_wait: Duration) {
        let wait = match self {
            RunWait::Work => return std::future::pending().await,
            RunWait::Background => check_at.saturating_duration_since(Instant::now()),
            RunWait::Quota => quota_wait,
            RunWait::Nothing | RunWait::Paused | RunWait::Person => return,
        };
        tokio::time::sleep(wait).await;
    }
}

/// The first interrupt stops all work and waits for its end, the second ends the run at once; an end signal leaves the
/// session resumable.
async fn handle_signal(
    signal: RunSignal,
    session: &Session,
    report: &mut RunSummary,
) -> Result<Option<RunEnd>, CliError> {
    match signal {
        RunSignal::Interrupt if !report.interrupted => {
            report.interrupted = true;
            session.interrupt().await?;
            session.stop(CancelBy::User).await?;
            Ok(None)
        }
        RunSignal::Interrupt => {
            session.stop(CancelBy::User).await?;
            Ok(Some(RunEnd::StopRequested))
        }
        RunSignal::End => Ok(Some(RunEnd::StopRequested)),
    }
}

/// Leaves the session and applies its last events.
async fn leave_session(
    session: Session,
    ended: RunEnd,
    mut report: RunSummary,
    mut events: Subscription,
    status: watch::Receiver<SessionStatus>,
    screen: &mut RunScreen<'_>,
) -> Result<RunSummary, CliError> {
    report.end = ended;
    // Prefer the supervisor's error: it describes the state of the file best.
    report.paused = status.borrow().paused.clone().or(report.paused);
    report.parked = status.borrow().parked;
    // A fleet that is still at work ends with the run, whose own end decides the exit code.
    report.fleet_outcome = session.latest_fleet().and_then(|fleet| fleet.outcome());
    let leave_result = session.leave().await;
    while let Ok(Some(message @ BusMessage::Event(_))) =
        tokio::time::timeout(Duration::ZERO, events.next()).await.unwrap_or(Ok(None))
    {
        report.apply(&message);
        screen.handle_message(&message);
    }
    // Report that the file was removed, not the read error that follows from it.
    if let Err(error @ StoreError::Removed { .. }) = &leave_result {
        report.pause(error.clone());
    }
    report.read_totals(leave_result)?;
    Ok(report)
}
