//! Follows a session to the end of its run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::Env;
use protocol::{CancelBy, TaskState};
use runtime::{Live, Parking, Session, Status, Subscription};
use store::StoreError;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::background::{AtWork, Leeway, Times, Verdict};
use super::report::{Ended, Report};
use super::screen::Screen;
use super::signals::{Signal, Signals};
use crate::failure::Failure;
use crate::fault;

/// How long what was stopped may take until it is looked at again.
const AGAIN: Duration = Duration::from_millis(100);

/// How long a run waits for what it does not control.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For background work after the answer.
    pub(crate) background: Leeway,
    /// For a quota to reset.
    pub(crate) park: Duration,
    /// For all of it, if it is limited. Work heeds it by itself; a quota does not.
    pub(crate) time: Option<Duration>,
}

/// How often a run is looked at in which nothing happens.
const TICK: Duration = Duration::from_secs(1);

/// Follows the session until nothing is left to do, somebody stops it, or patience ends; then leaves it. The screen is
/// told whatever happens, once and in order; what somebody types there is acted on.
pub(super) async fn drive(
    session: Session,
    patience: Patience,
    screen: &mut Screen<'_>,
    env: &Env,
) -> Result<Report, Failure> {
    let mut report = Report::new(&session);
    let mut events = session.subscribe(session.first_seq());
    let mut status = session.status();
    let mut signals = Signals::listen()?;
    let mut clock = tokio::time::interval(TICK);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut since = (Wait::Work, Instant::now());
    let (mut heard, mut look) = (Instant::now(), Instant::now());
    let ended = loop {
        let wait = Wait::of(&status.borrow_and_update());
        // Whatever happens meanwhile, patience counts from when the waiting began.
        if since.0 != wait {
            since = (wait, Instant::now());
            // No verdict can be other than to wait before.
            look = since.1 + patience.background.least().min(patience.park);
        }
        let time = patience.time.map(|time| time.saturating_sub(report.began.elapsed()));
        let park = patience.park.saturating_sub(since.1.elapsed());
        let deadline = wait.deadline(look, time.map_or(park, |time| time.min(park)));
        tokio::select! {
            biased;
            signal = signals.next() => {
                if let Some(ended) = obey(signal, &session, &mut report).await? {
                    break ended;
                }
            }
            typed = screen.typed() => {
                let signal = screen.take(typed, &session).await?;
                if let Some(signal) = signal
                    && let Some(ended) = obey(signal, &session, &mut report).await?
                {
                    break ended;
                }
            }
            live = events.next() => match live {
                Ok(Some(live)) => {
                    heard = Instant::now();
                    report.read(&live);
                    fault::shown(env.fault.as_deref(), &live);
                    screen.live(&live);
                }
                Ok(None) => {}
                // Whatever happened to the file, what was said so far is known.
                Err(error) => {
                    report.paused = Some(Arc::new(error));
                    break Ended::Paused;
                }
            },
            _now = clock.tick() => screen.tick(Instant::now()),
            changed = status.changed() => if changed.is_err() { break Ended::AtRest },
            () = deadline => match wait {
                Wait::Background => {
                    let at_work = match AtWork::read(&session) {
                        Ok(at_work) => at_work,
                        Err(error) => {
                            report.paused = Some(Arc::new(error));
                            break Ended::Paused;
                        }
                    };
                    let times = Times { since: since.1, heard };
                    match at_work.judge(patience.background, times, Instant::now()) {
                        Verdict::Wait(until) => look = until,
                        // Not one by one: the end of each would wake the root to hear of it.
                        Verdict::Stop => {
                            report.cut_off(at_work);
                            session.stop(CancelBy::SessionEnd).await?;
                            look = Instant::now() + AGAIN;
                        }
                    }
                }
                Wait::Person => break Ended::Parked,
                Wait::Quota if time.is_some_and(|time| time < park) => break Ended::TimeUp,
                Wait::Quota => break Ended::Parked,
                Wait::Nothing => break Ended::AtRest,
                Wait::Work => {}
                Wait::Paused => break Ended::Paused,
            },
        }
    };
    leave(session, ended, report, events, status, screen).await
}

/// What the run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
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

impl Wait {
    fn of(status: &Status) -> Wait {
        if status.paused.is_some() {
            return Wait::Paused;
        }
        // The root rests, and is about to be told to go on.
        if status.continuation_due {
            return Wait::Work;
        }
        match status.parked {
            Some(Parking { until: None, .. }) => return Wait::Person,
            Some(Parking { until: Some(_), .. }) => return Wait::Quota,
            None => {}
        }
        match &status.root {
            Some(TaskState::Queued | TaskState::Running | TaskState::Parked { .. }) | None => Wait::Work,
            Some(TaskState::Idle | TaskState::Interrupted | TaskState::Finished { .. }) if status.background > 0 => {
                Wait::Background
            }
            Some(TaskState::Idle | TaskState::Interrupted | TaskState::Finished { .. }) => Wait::Nothing,
        }
    }

    async fn deadline(self, look: Instant, quota: Duration) {
        let wait = match self {
            Wait::Work => return std::future::pending().await,
            Wait::Background => look.saturating_duration_since(Instant::now()),
            Wait::Quota => quota,
            Wait::Nothing | Wait::Paused | Wait::Person => return,
        };
        tokio::time::sleep(wait).await;
    }
}

/// The first interrupt stops the turn, the second everything; being told to end leaves the session resumable.
async fn obey(signal: Signal, session: &Session, report: &mut Report) -> Result<Option<Ended>, Failure> {
    match signal {
        Signal::Interrupt if !report.interrupted => {
            report.interrupted = true;
            session.interrupt().await?;
            session.stop(CancelBy::User).await?;
            Ok(None)
        }
        Signal::Interrupt => {
            session.stop(CancelBy::User).await?;
            Ok(Some(Ended::Told))
        }
        Signal::End => Ok(Some(Ended::Told)),
    }
}

/// Leaves the session and reads what its end brought.
async fn leave(
    session: Session,
    ended: Ended,
    mut report: Report,
    mut events: Subscription,
    status: watch::Receiver<Status>,
    screen: &mut Screen<'_>,
) -> Result<Report, Failure> {
    report.ended = ended;
    // What the supervisor met comes first: it knows best what became of the file.
    report.paused = status.borrow().paused.clone().or(report.paused);
    report.parked = status.borrow().parked;
    let left = session.leave().await;
    while let Ok(Some(live @ Live::Event(_))) =
        tokio::time::timeout(Duration::ZERO, events.next()).await.unwrap_or(Ok(None))
    {
        report.read(&live);
        screen.live(&live);
    }
    // The file is gone, and its end cannot be written: that says more than what could not be read of it.
    if let Err(error @ StoreError::Removed { .. }) = &left {
        report.pause(error.clone());
    }
    report.complete(left)?;
    Ok(report)
}
