//! Follows a session to the end of its run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::Env;
use protocol::{CancelBy, TaskState};
use runtime::{BusMessage, Parking, Session, SessionStatus, Subscription};
use store::StoreError;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::background::{BackgroundWait, BackgroundWaitDecision, BackgroundWaitTimes, BackgroundWork};
use super::report::{RunEnd, RunSummary};
use super::screen::RunScreen;
use super::signals::{RunSignal, SignalListener};
use crate::error::CliError;
use crate::fault_injection;

/// How long what was stopped may take until it is looked at again.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How long a run waits for what it does not control.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunWaitLimits {
    /// For background work after the answer.
    pub(crate) background: BackgroundWait,
    /// For a quota to reset.
    pub(crate) park: Duration,
    /// For all of it, if it is limited. Work heeds it by itself; a quota does not.
    pub(crate) time: Option<Duration>,
}

/// How often a run is looked at in which nothing happens.
const TICK: Duration = Duration::from_secs(1);

/// Follows the session until nothing is left to do, somebody stops it, or patience ends; then leaves it. The screen is
/// told whatever happens, once and in order; what somebody types there is acted on.
pub(super) async fn drive_session(
    session: Session,
    patience: RunWaitLimits,
    screen: &mut RunScreen<'_>,
    env: &Env,
) -> Result<RunSummary, CliError> {
    let mut report = RunSummary::new(&session);
    let mut events = session.subscribe(session.first_seq());
    let mut status = session.status();
    let mut signals = SignalListener::listen()?;
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut since = (RunWait::Work, Instant::now());
    let (mut heard, mut look) = (Instant::now(), Instant::now());
    let ended = loop {
        let wait = RunWait::of(&status.borrow_and_update());
        // Whatever happens meanwhile, patience counts from when the waiting began.
        if since.0 != wait {
            since = (wait, Instant::now());
            // No verdict can be other than to wait before.
            look = since.1 + patience.background.minimum().min(patience.park);
        }
        let time = patience.time.map(|time| time.saturating_sub(report.began.elapsed()));
        let park = patience.park.saturating_sub(since.1.elapsed());
        let deadline = wait.deadline(look, time.map_or(park, |time| time.min(park)));
        tokio::select! {
            biased;
            signal = signals.next() => {
                if let Some(ended) = handle_signal(signal, &session, &mut report).await? {
                    break ended;
                }
            }
            typed = screen.next_input() => {
                let signal = screen.handle_input(typed, &session).await?;
                if let Some(signal) = signal
                    && let Some(ended) = handle_signal(signal, &session, &mut report).await?
                {
                    break ended;
                }
            }
            live = events.next() => match live {
                Ok(Some(live)) => {
                    heard = Instant::now();
                    report.apply(&live);
                    fault_injection::panic_if_ordered(env.fault.as_deref(), &live);
                    screen.handle_live(&live);
                }
                Ok(None) => {}
                // Whatever happened to the file, what was said so far is known.
                Err(error) => {
                    report.paused = Some(Arc::new(error));
                    break RunEnd::Paused;
                }
            },
            _now = clock.tick() => screen.tick(Instant::now()),
            changed = status.changed() => if changed.is_err() { break RunEnd::NothingLeft },
            () = deadline => match wait {
                RunWait::Background => {
                    let at_work = match BackgroundWork::read(&session) {
                        Ok(at_work) => at_work,
                        Err(error) => {
                            report.paused = Some(Arc::new(error));
                            break RunEnd::Paused;
                        }
                    };
                    let times = BackgroundWaitTimes { answered_at: since.1, last_heard_at: heard };
                    match at_work.decide(patience.background, times, Instant::now()) {
                        BackgroundWaitDecision::Wait(until) => look = until,
                        // Not one by one: the end of each would wake the root to hear of it.
                        BackgroundWaitDecision::Stop => {
                            report.note_stopped(at_work);
                            session.stop(CancelBy::SessionEnd).await?;
                            look = Instant::now() + RECHECK_INTERVAL;
                        }
                    }
                }
                RunWait::Person => break RunEnd::Parked,
                RunWait::Quota if time.is_some_and(|time| time < park) => break RunEnd::TimeUp,
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
    /// A quota, whoever of the tree has met it.
    Quota,
    /// What only a person can change, such as the key.
    Person,
    /// Nothing: it is over.
    Nothing,
    /// Nothing: it cannot go on.
    Paused,
}

impl RunWait {
    fn of(status: &SessionStatus) -> RunWait {
        if status.paused.is_some() {
            return RunWait::Paused;
        }
        // The root rests, and is about to be told to go on.
        if status.continuation_due {
            return RunWait::Work;
        }
        match status.parked {
            Some(Parking { until: None, .. }) => return RunWait::Person,
            Some(Parking { until: Some(_), .. }) => return RunWait::Quota,
            None => {}
        }
        match &status.root {
            Some(TaskState::Queued | TaskState::Running | TaskState::Parked { .. }) | None => RunWait::Work,
            Some(TaskState::Idle | TaskState::Interrupted | TaskState::Finished { .. }) if status.background > 0 => {
                RunWait::Background
            }
            Some(TaskState::Idle | TaskState::Interrupted | TaskState::Finished { .. }) => RunWait::Nothing,
        }
    }

    async fn deadline(self, look: Instant, quota: Duration) {
        let wait = match self {
            RunWait::Work => return std::future::pending().await,
            RunWait::Background => look.saturating_duration_since(Instant::now()),
            RunWait::Quota => quota,
            RunWait::Nothing | RunWait::Paused | RunWait::Person => return,
        };
        tokio::time::sleep(wait).await;
    }
}

/// The first interrupt stops the turn, the second everything; being told to end leaves the session resumable.
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

/// Leaves the session and reads what its end brought.
async fn leave_session(
    session: Session,
    ended: RunEnd,
    mut report: RunSummary,
    mut events: Subscription,
    status: watch::Receiver<SessionStatus>,
    screen: &mut RunScreen<'_>,
) -> Result<RunSummary, CliError> {
    report.ended = ended;
    // What the supervisor met comes first: it knows best what became of the file.
    report.paused = status.borrow().paused.clone().or(report.paused);
    report.parked = status.borrow().parked;
    let left = session.leave().await;
    while let Ok(Some(live @ BusMessage::Event(_))) =
        tokio::time::timeout(Duration::ZERO, events.next()).await.unwrap_or(Ok(None))
    {
        report.apply(&live);
        screen.handle_live(&live);
    }
    // The file is gone, and its end cannot be written: that says more than what could not be read of it.
    if let Err(error @ StoreError::Removed { .. }) = &left {
        report.pause(error.clone());
    }
    report.read_totals(left)?;
    Ok(report)
}
