//! Follows a session to the end of its run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{ClientError, EventStream, RunDue, RunWaitLimits, RunWatch, SessionMessage, StoreError};
use config::Env;
use protocol::CancelBy;
use protocol::api::{Nothing, SessionWaitEnd, calls};
use tokio::time::MissedTickBehavior;
use tui::chat::call_session;
use tui::signals::{RunSignal, SignalListener};

use super::report::{RunEnd, RunSummary};
use super::screen::RunScreen;
use crate::error::CliError;
use crate::fault_injection;
use crate::fleet::FleetRunEnd;
use crate::foreground_session::ForegroundSession;

/// The interval of ticks while nothing happens.
const TICK_INTERVAL: Duration = Duration::from_secs(1);

/// Follows the session until nothing is left to do, it is stopped, or a wait limit is reached; then leaves it. Passes
/// every message to the screen once and in order, and handles the user's input there.
pub(super) async fn drive_session(
    session: ForegroundSession,
    limits: RunWaitLimits,
    screen: &mut RunScreen<'_>,
    env: &Env,
) -> Result<RunSummary, CliError> {
    let mut report = RunSummary::new(&session);
    let mut events = session.follow();
    let mut signals = SignalListener::listen()?;
    let mut clock = tokio::time::interval(TICK_INTERVAL);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watch = RunWatch::new(limits, Instant::now());
    let ended = loop {
        tokio::select! {
            biased;
            signal = signals.next() => {
                if let Some(ended) = handle_signal(signal, &session, &mut report).await? {
                    break ended;
                }
            }
            input = screen.next_input() => {
                let signal = screen.handle_input(input, session.handle()).await?;
                if let Some(signal) = signal
                    && let Some(ended) = handle_signal(signal, &session, &mut report).await?
                {
                    break ended;
                }
            }
            message = events.next() => match message {
                Ok(Some(SessionMessage::Status(status))) => watch.note_phase(status.phase(), Instant::now()),
                Ok(Some(message)) => {
                    watch.note_event(Instant::now());
                    report.apply(&message);
                    fault_injection::panic_if_requested(env.fault.as_deref(), &message);
                    screen.handle_message(&message);
                }
                Ok(None) => break RunEnd::NothingLeft,
                // Keep the report so far instead of returning the error.
                Err(ClientError::Store(error)) => {
                    report.paused = Some(Arc::new(error));
                    break RunEnd::Paused;
                }
                Err(error) => return Err(error.into()),
            },
            _now = clock.tick() => screen.tick(Instant::now()),
            () = watch.until_due() => {
                let work = || session.handle().background_work();
                match watch.due(Instant::now(), work) {
                    Ok(RunDue::Nothing) => {}
                    // All at once: if tasks ended one by one, each end would wake the root.
                    Ok(RunDue::Overdue(work)) => {
                        report.note_stopped(work.into());
                        session.stop(CancelBy::SessionEnd).await?;
                    }
                    Ok(RunDue::Over(end)) => break end.into(),
                    Err(error) => {
                        report.paused = Some(Arc::new(error));
                        break RunEnd::Paused;
                    }
                }
            },
        }
    };
    leave_session(session, ended, report, events, screen).await
}

impl From<SessionWaitEnd> for RunEnd {
    fn from(end: SessionWaitEnd) -> RunEnd {
        match end {
            SessionWaitEnd::Quiet | SessionWaitEnd::Background => RunEnd::NothingLeft,
            SessionWaitEnd::Parked { .. } => RunEnd::Parked,
            SessionWaitEnd::Paused => RunEnd::Paused,
            SessionWaitEnd::TimedOut => RunEnd::TimeUp,
        }
    }
}

/// The first interrupt stops all work and waits for its end, the second ends the run at once; an end signal leaves the
/// session resumable.
async fn handle_signal(
    signal: RunSignal,
    session: &ForegroundSession,
    report: &mut RunSummary,
) -> Result<Option<RunEnd>, CliError> {
    match signal {
        RunSignal::Interrupt if !report.interrupted => {
            report.interrupted = true;
            call_session::<calls::SessionInterrupt>(session.handle(), &Nothing {}).await?;
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
    session: ForegroundSession,
    ended: RunEnd,
    mut report: RunSummary,
    mut events: EventStream,
    screen: &mut RunScreen<'_>,
) -> Result<RunSummary, CliError> {
    report.end = ended;
    // Prefer the supervisor's error: it describes the state of the file best.
    report.paused = session.pause().reason().or(report.paused);
    report.parked = session.status().parked;
    // A fleet that is still at work ends with the run, whose own end decides the exit code.
    report.fleet_end = session.status().fleet_failure.map(FleetRunEnd::Broken).or(report.fleet_end);
    let leave_result = session.leave().await;
    // The stream ends with the session, unless its last events cannot be read.
    while let Ok(Some(message)) = events.next().await {
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
