//! Open or closed, and for how long.

use std::time::Duration;

use protocol::At;
use serde::{Deserialize, Serialize};

use super::Holder;

/// A closing without a stated end lasts at most this long at first, and twice as long each time.
const FIRST: Duration = Duration::from_secs(1);

/// It never lasts longer than this.
const LONGEST: Duration = Duration::from_secs(30);

/// The shortest closing: those who were under way are back by then, and have said whether they were throttled.
const SHORTEST: Duration = Duration::from_millis(250);

/// Nobody's word closes a bucket for longer than this; then it is tried.
const FARTHEST: Duration = Duration::from_secs(31 * 24 * 3600);

/// A probe that takes longer than this no longer keeps others from probing.
const PROBE: Duration = Duration::from_secs(60);

/// Whether requests are let through.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Gate {
    #[default]
    Open,
    Closed(Closed),
}

/// A closed gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Closed {
    pub(super) why: Why,
    pub(super) at: At,
    pub(super) until: At,
    /// Probes that failed.
    failed: u32,
    pub(super) probe: Option<Probe>,
}

/// Why it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Why {
    /// The provider asked to slow down.
    Throttled,
    /// A quota is used up.
    Quota,
    /// Nothing was answered any more.
    Down,
}

/// The one request that tests whether it is open again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Probe {
    pub(super) holder: Holder,
    since_at: At,
}

impl Gate {
    pub(super) fn set_back(&mut self, by: Duration) {
        let Gate::Closed(closed) = self else { return };
        let back = |at: At| At(at.0.saturating_sub(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)));
        closed.at = back(closed.at);
        if closed.why != Why::Quota {
            closed.until = back(closed.until);
        }
        if let Some(probe) = &mut closed.probe {
            probe.since_at = back(probe.since_at);
        }
    }
}

impl Closed {
    pub(super) fn new(now: At, why: Why, until: At) -> Closed {
        Closed { why, at: now, until: until.min(now.plus(FARTHEST)), failed: 0, probe: None }
    }

    /// Whether somebody is testing it.
    pub(super) fn is_probed(&self, now: At) -> bool {
        self.probe.as_ref().is_some_and(|probe| now.since(probe.since_at) < PROBE)
    }

    pub(super) fn probe(&mut self, now: At, holder: &Holder) {
        self.probe = Some(Probe { holder: holder.clone(), since_at: now });
    }

    /// Closes for longer after a probe that failed.
    pub(super) fn again(&mut self, now: At, why: Why, named: Option<At>, dice: f64) {
        self.failed = self.failed.saturating_add(1);
        let until = backoff(now, self.failed, dice).max(named.unwrap_or(now));
        *self = Closed { failed: self.failed, at: self.at, ..Closed::new(now, why, until) };
    }

    /// Takes a later word for it.
    pub(super) fn lengthen(&mut self, now: At, until: At) {
        self.until = self.until.max(until.min(now.plus(FARTHEST)));
    }
}

/// When to try again after a throttle.
pub(super) fn reopening(now: At, named: Option<At>, dice: f64) -> At {
    match named {
        // A little later than named, and not all at the same moment.
        Some(named) => named.max(now.plus(SHORTEST)).plus(Duration::from_millis(20).mul_f64(dice)),
        None => backoff(now, 0, dice),
    }
}

/// Exponential, and spread over half of its length.
pub(super) fn backoff(now: At, failed: u32, dice: f64) -> At {
    let most = FIRST.saturating_mul(1 << failed.min(10)).min(LONGEST);
    now.plus(most.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0))
}
