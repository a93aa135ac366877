//! Follows a fleet to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::Env;
use runtime::{Fleet, FleetOutcome, Live, Parking, Session, Subscription};
use store::StoreError;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::lines::Lines;
use super::report::FleetReport;
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fault;
use crate::run::{Report, Signals};

/// How often the view may be drawn again.
const PACE: Duration = Duration::from_millis(100);

/// How long a fleet is waited for that cannot go on by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For a quota to reset.
    pub(super) park: Duration,
}

/// Why nobody follows the fleet any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Followed {
    /// It ended.
    Ended(FleetOutcome),
    /// This process was told to end. The fleet goes on where it was when somebody goes on with it.
    Told,
    /// Everybody waits for a quota, for longer than the caller does.
    Parked,
    /// What it did could not be written.
    Paused,
}

impl Followed {
    /// The same, unless a pause explains it: whatever ends a fleet after a commit failed is its consequence.
    fn unless(self, paused: Option<&Arc<StoreError>>) -> Followed {
        match (self, paused) {
            (Followed::Ended(FleetOutcome::Left | FleetOutcome::Broken(_)), Some(_))
            | (Followed::Told | Followed::Parked | Followed::Paused, Some(_)) => Followed::Paused,
            // These ends are in the log.
            (
                ended @ Followed::Ended(FleetOutcome::Ended(_) | FleetOutcome::Halted(_) | FleetOutcome::Unplanned(_)),
                Some(_),
            ) => ended,
            (followed, None) => followed,
        }
    }
}

/// Follows a fleet, tells what happens, and reports how it ended.
pub(super) async fn follow(
    session: Session,
    fleet: Fleet,
    patience: Patience,
    lines: Lines<'_>,
    env: &Env,
    args: &RunArgs,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?;
    let (began, home, id) = (Instant::now(), session.home().clone(), session.id());
    let mut shown = Seen { report: Report::new(&session), lines, env };
    let mut events = session.subscribe(session.first_seq());
    let mut status = session.status();
    let watched = Watched { session: &session, events: &mut events, status: &mut status };
    let followed = tokio::select! {
        biased;
        _signal = signals.next() => Ok(Followed::Told),
        followed = watched.watch(fleet, patience, &mut shown) => followed,
    };
    let followed = match followed {
        Err(_unread) if status.borrow().paused.is_some() => Followed::Paused,
        followed => followed?,
    };
    let merging = session.merging();
    let left = tokio::select! {
        biased;
        left = leave(session, &mut events, &mut shown) => left,
        // Whoever asks twice does not want to wait for a clean end; the session can go on without one.
        _again = signals.next() => return Ok(Exit::Cancelled),
    };
    // After the end, which has commits of its own.
    let paused = status.borrow().paused.clone();
    if paused.is_none() {
        left?;
    }
    let Seen { report, mut lines, .. } = shown;
    lines.end();
    let followed = followed.unless(paused.as_ref());
    let report = match (FleetReport::read(&home, id, followed, paused.clone(), report, began), paused) {
        // A file that cannot be written may be unreadable too; why it was paused is the reason.
        (Err(_unread), Some(reason)) => return Err((*reason).clone().into()),
        (report, _) => report?,
    };
    report.merged(merging.summary()).write(args)
}

/// What is told of a fleet: to a person, and in the report.
struct Seen<'a> {
    report: Report,
    lines: Lines<'a>,
    env: &'a Env,
}

impl Seen<'_> {
    fn live(&mut self, live: &Live) {
        fault::shown(self.env.fault.as_deref(), live);
        self.report.read(live);
        self.lines.live(live);
    }
}

struct Watched<'a> {
    session: &'a Session,
    events: &'a mut Subscription,
    status: &'a mut watch::Receiver<runtime::Status>,
}

impl Watched<'_> {
    /// Tells what happens until the fleet ends, or cannot go on.
    async fn watch(self, mut fleet: Fleet, patience: Patience, shown: &mut Seen<'_>) -> Result<Followed, Failure> {
        let mut heard = Instant::now();
        let mut clock = tokio::time::interval(PACE);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let parked = {
                let status = self.status.borrow_and_update();
                if status.paused.is_some() {
                    return Ok(Followed::Paused);
                }
                status.parked
            };
            // What only a person can change is not waited for.
            if matches!(parked, Some(Parking { until: None, .. })) {
                return Ok(Followed::Parked);
            }
            let quiet = patience.park.saturating_sub(heard.elapsed());
            tokio::select! {
                biased;
                typed = shown.lines.typed() => {
                    if shown.lines.take(typed, self.session).await?.is_some() {
                        return Ok(Followed::Told);
                    }
                }
                live = self.events.next() => {
                    if let Some(live) = live? {
                        heard = Instant::now();
                        shown.live(&live);
                    }
                }
                outcome = fleet.ended() => return Ok(Followed::Ended(outcome)),
                changed = self.status.changed() => {
                    if changed.is_err() {
                        return Ok(Followed::Ended(FleetOutcome::Left));
                    }
                }
                _now = clock.tick() => shown.lines.tick(),
                () = tokio::time::sleep(quiet) => {
                    if parked.is_some() {
                        return Ok(Followed::Parked);
                    }
                    heard = Instant::now();
                }
            }
        }
    }
}

/// Leaves the session, and tells what its end brought.
async fn leave(session: Session, events: &mut Subscription, shown: &mut Seen<'_>) -> Result<(), Failure> {
    let left = session.leave().await;
    while let Ok(Some(live @ Live::Event(_))) =
        tokio::time::timeout(Duration::ZERO, events.next()).await.unwrap_or(Ok(None))
    {
        shown.live(&live);
    }
    left?;
    Ok(())
}

/// Why a session is paused.
pub(super) type Paused = Option<Arc<StoreError>>;
