//! How often a request may start. A window alone cannot limit the rate when answers are fast.

use std::time::Duration;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// Rates are in starts per thousand seconds.
const LEAST: u64 = 250;

/// The lowest rate after a first throttle, which may follow only a single request.
const FIRST: u64 = 2_000;

/// Above this a pace has no effect: two starts are at least a millisecond apart.
const MOST: u64 = 1_000_000;

/// The least time between two increases of the rate.
const STEP: Duration = Duration::from_millis(500);

/// The least number of starts between two increases of the rate.
const STARTS: u32 = 4;

/// The same near a rate that was too fast, where each throttle costs a request.
const CAREFUL_STARTS: u32 = 20;

/// A pace that delayed no request for this long is dropped.
const UNUSED: Duration = Duration::from_secs(60);

/// How late a start may be without delaying the next ones.
const SLACK_MICROS: u64 = 20_000;

/// The rate at which requests start, and the search for the best one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestPace {
    rate: u64,
    /// The rate that was last too fast, once known.
    ceiling: Option<u64>,
    /// The next start, in microseconds since the epoch.
    next_micros: u64,
    last_at: Timestamp,
    raised_at: Timestamp,
    /// Starts since it was raised.
    starts: u32,
    /// When it last delayed a request.
    waited_at: Timestamp,
}

/// How a rate is raised.
struct RateIncrease {
    percent: u64,
    /// After how many starts.
    starts: u32,
}

impl RequestPace {
    /// The pace after the first throttle, based on the rate that was accepted.
    pub(super) fn first(now: Timestamp, passed: u64) -> RequestPace {
        RequestPace::at(now, (passed / 10 * 9).max(FIRST), None)
    }

    /// The pace after another throttle. `passed` is measured over at least a second and may be too low after a short
    /// time, so one throttle at most halves the rate.
    pub(super) fn slower(&self, now: Timestamp, passed: u64) -> RequestPace {
        let before = self.rate.clamp(LEAST, MOST);
        let rate = (passed / 100 * 85).clamp(before / 2, before / 100 * 85);
        let ceiling = passed.clamp(rate, before);
        RequestPace::at(now, rate, Some(ceiling))
    }

    fn at(now: Timestamp, rate: u64, ceiling: Option<u64>) -> RequestPace {
        let rate = rate.clamp(LEAST, MOST);
        let next_micros = micros(now).saturating_add(gap(rate));
        RequestPace { rate, ceiling, next_micros, last_at: now, raised_at: now, starts: 0, waited_at: now }
    }

    /// When the next request may start, in whole milliseconds.
    pub(super) fn next_at(&self) -> Timestamp {
        Timestamp(self.next_micros.div_ceil(1000)).max(self.last_at.plus(Duration::from_millis(1)))
    }

    /// How many starts are due by now.
    pub(super) fn due(&self, now: Timestamp) -> usize {
        let late = micros(now).saturating_sub(self.next_micros).min(SLACK_MICROS);
        usize::try_from(1 + late / gap(self.rate)).unwrap_or(usize::MAX)
    }

    /// The time between two starts.
    pub(super) fn gap(&self) -> Duration {
        Duration::from_micros(gap(self.rate))
    }

    /// Notes that it delayed a request.
    pub(super) fn delay(&mut self, now: Timestamp) {
        self.waited_at = now;
    }

    /// Whether it no longer has an effect.
    pub(super) fn is_idle(&self, now: Timestamp) -> bool {
        self.rate >= MOST || now.since(self.waited_at) > UNUSED
    }

    /// Starts a request.
    pub(super) fn start(&mut self, now: Timestamp) {
        let due = self.next_micros.max(micros(now).saturating_sub(SLACK_MICROS));
        self.next_micros = due.saturating_add(gap(self.rate));
        self.last_at = now;
        self.starts = self.starts.saturating_add(1);
        let (since, climb) = (now.since(self.raised_at), self.next_increase());
        if since >= STEP && self.starts >= climb.starts && self.is_used(since) {
            let rate = self.rate.clamp(LEAST, MOST);
            self.rate = (rate + rate * climb.percent / 100 + 1).min(MOST);
            (self.raised_at, self.starts) = (now, 0);
        }
    }

    /// Whether requests started about as often as the rate allows.
    fn is_used(&self, since: Duration) -> bool {
        let could = u64::try_from(since.as_micros()).unwrap_or(u64::MAX) / gap(self.rate);
        u64::from(self.starts) >= could / 10 * 8
    }

    /// Fast while the limit is unknown, slow near a rate that was too fast, and faster again beyond it.
    fn next_increase(&self) -> RateIncrease {
        match self.ceiling {
            None => RateIncrease { percent: 50, starts: STARTS },
            Some(ceiling) if self.rate < ceiling / 100 * 95 => RateIncrease { percent: 10, starts: STARTS },
            Some(ceiling) if self.rate < ceiling / 100 * 125 => RateIncrease { percent: 1, starts: CAREFUL_STARTS },
            Some(_) => RateIncrease { percent: 10, starts: STARTS },
        }
    }

    pub(super) fn restart_at(&mut self, now: Timestamp) {
        *self = RequestPace::at(now, self.rate, self.ceiling);
    }
}

fn micros(at: Timestamp) -> u64 {
    at.0.saturating_mul(1000)
}

fn gap(rate: u64) -> u64 {
    1_000_000_000 / rate.max(1)
}
