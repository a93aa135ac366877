//! How often a request may start. A window alone cannot limit the rate when answers are fast.

use std::time::Duration;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

/// The lowest rate. All rates are in starts per thousand seconds.
const MIN_RATE: u64 = 250;

/// The lowest rate after a first throttle, which may follow only a single request.
const MIN_FIRST_RATE: u64 = 2_000;

/// The highest rate. From here on a pace has no effect, because two starts are at least a millisecond apart anyway.
const MAX_RATE: u64 = 1_000_000;

/// The least time between two increases of the rate.
const MIN_RAISE_INTERVAL: Duration = Duration::from_millis(500);

/// The least number of starts between two increases of the rate.
const MIN_RAISE_STARTS: u32 = 4;

/// The same near a rate that was too fast: increases must be rarer there, because each throttle costs a request.
const MIN_CAREFUL_RAISE_STARTS: u32 = 20;

/// A pace that delayed no request for this long is dropped.
const DROP_UNUSED_AFTER: Duration = Duration::from_secs(60);

/// How late a start may be, in microseconds, without delaying the next ones.
const SLACK_MICROS: u64 = 20_000;

/// The rate at which requests start, and the search for the best one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestPace {
    /// Starts per thousand seconds.
    rate: u64,
    /// The rate that was last too fast, once known.
    ceiling: Option<u64>,
    /// The next start, in microseconds since the epoch.
    next_micros: u64,
    /// The last start.
    last_at: Timestamp,
    /// When the rate was last raised.
    raised_at: Timestamp,
    /// Starts since the rate was last raised.
    starts: u32,
    /// When the pace last delayed a request.
    waited_at: Timestamp,
}

/// By how much a rate is raised, and when.
struct RateIncrease {
    percent: u64,
    /// How many starts there must have been since the last increase.
    starts: u32,
}

impl RequestPace {
    /// The pace after the first throttle, based on the rate that was accepted.
    pub(super) fn after_first_throttle(now: Timestamp, accepted_rate: u64) -> RequestPace {
        RequestPace::with_rate(now, (accepted_rate / 10 * 9).max(MIN_FIRST_RATE), None)
    }

    /// The pace after another throttle. `accepted_rate` is measured over at least a second and may be too low after a
    /// short time, so one throttle at most halves the rate.
    pub(super) fn after_throttle(&self, now: Timestamp, accepted_rate: u64) -> RequestPace {
        let before = self.rate.clamp(MIN_RATE, MAX_RATE);
        let rate = (accepted_rate / 100 * 85).clamp(before / 2, before / 100 * 85);
        let ceiling = accepted_rate.clamp(rate, before);
        RequestPace::with_rate(now, rate, Some(ceiling))
    }

    fn with_rate(now: Timestamp, rate: u64, ceiling: Option<u64>) -> RequestPace {
        let rate = rate.clamp(MIN_RATE, MAX_RATE);
        let next_micros = micros(now).saturating_add(gap(rate));
        RequestPace { rate, ceiling, next_micros, last_at: now, raised_at: now, starts: 0, waited_at: now }
    }

    /// When the next request may start, in whole milliseconds.
    pub(super) fn next_at(&self) -> Timestamp {
        Timestamp(self.next_micros.div_ceil(1000)).max(self.last_at.plus(Duration::from_millis(1)))
    }

    /// How many starts are due by now.
    pub(super) fn starts_due(&self, now: Timestamp) -> usize {
        let late = micros(now).saturating_sub(self.next_micros).min(SLACK_MICROS);
        usize::try_from(1 + late / gap(self.rate)).unwrap_or(usize::MAX)
    }

    /// The time between two starts.
    pub(super) fn gap(&self) -> Duration {
        Duration::from_micros(gap(self.rate))
    }

    /// Notes that the pace delayed a request.
    pub(super) fn note_delay(&mut self, now: Timestamp) {
        self.waited_at = now;
    }

    /// Whether the pace no longer has an effect.
    pub(super) fn is_idle(&self, now: Timestamp) -> bool {
        self.rate >= MAX_RATE || now.since(self.waited_at) > DROP_UNUSED_AFTER
    }

    /// Counts the start of a request, and raises the rate if it is time to.
    pub(super) fn note_start(&mut self, now: Timestamp) {
        let due = self.next_micros.max(micros(now).saturating_sub(SLACK_MICROS));
        self.next_micros = due.saturating_add(gap(self.rate));
        self.last_at = now;
        self.starts = self.starts.saturating_add(1);
        let (since, increase) = (now.since(self.raised_at), self.next_increase());
        if since >= MIN_RAISE_INTERVAL && self.starts >= increase.starts && self.is_rate_used(since) {
            let rate = self.rate.clamp(MIN_RATE, MAX_RATE);
            self.rate = (rate + rate * increase.percent / 100 + 1).min(MAX_RATE);
            (self.raised_at, self.starts) = (now, 0);
        }
    }

    /// Whether requests started about as often as the rate allows.
    fn is_rate_used(&self, since: Duration) -> bool {
        let possible_starts = u64::try_from(since.as_micros()).unwrap_or(u64::MAX) / gap(self.rate);
        u64::from(self.starts) >= possible_starts / 10 * 8
    }

    /// Fast while the limit is unknown, slow near a rate that was too fast, and faster again beyond it.
    fn next_increase(&self) -> RateIncrease {
        match self.ceiling {
            None => RateIncrease { percent: 50, starts: MIN_RAISE_STARTS },
            Some(ceiling) if self.rate < ceiling / 100 * 95 => RateIncrease { percent: 10, starts: MIN_RAISE_STARTS },
            Some(ceiling) if self.rate < ceiling / 100 * 125 => {
                RateIncrease { percent: 1, starts: MIN_CAREFUL_RAISE_STARTS }
            }
            Some(_) => RateIncrease { percent: 10, starts: MIN_RAISE_STARTS },
        }
    }

    pub(super) fn restart_at(&mut self, now: Timestamp) {
        *self = RequestPace::with_rate(now, self.rate, self.ceiling);
    }
}

fn micros(at: Timestamp) -> u64 {
    at.0.saturating_mul(1000)
}

fn gap(rate: u64) -> u64 {
    1_000_000_000 / rate.max(1)
}
