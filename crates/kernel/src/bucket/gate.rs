//! Whether a bucket is open or closed, and for how long.

use std::time::Duration;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

use super::PermitHolder;

/// The longest first closing when no end is stated; it doubles each time.
const FIRST: Duration = Duration::from_secs(1);

/// The longest closing when no end is stated.
const LONGEST: Duration = Duration::from_secs(30);

/// The shortest closing: by then, requests in progress have returned and reported whether they were throttled.
const SHORTEST: Duration = Duration::from_millis(250);

/// No provider can close a bucket for longer than this without a probe.
const MAX_CLOSED: Duration = Duration::from_secs(31 * 24 * 3600);

/// A probe that takes longer than this no longer prevents other probes.
const PROBE: Duration = Duration::from_secs(60);

/// Whether requests are admitted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum BucketGate {
    #[default]
    Open,
    Closed(ClosedGate),
}

/// A closed gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClosedGate {
    pub(super) why: CloseReason,
    pub(super) at: Timestamp,
    pub(super) until: Timestamp,
    /// Probes that failed.
    failed: u32,
    pub(super) probe: Option<GateProbe>,
}

/// Why a gate is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CloseReason {
    /// The provider asked to slow down.
    Throttled,
    /// A quota is used up.
    Quota,
    /// Several requests in a row got no answer.
    Down,
}

/// The one request that tests whether the provider accepts requests again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GateProbe {
    pub(super) holder: PermitHolder,
    since_at: Timestamp,
}

impl BucketGate {
    pub(super) fn shift_times_back(&mut self, by: Duration) {
        let BucketGate::Closed(closed) = self else { return };
        let back = |at: Timestamp| Timestamp(at.0.saturating_sub(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)));
        closed.at = back(closed.at);
        if closed.why != CloseReason::Quota {
            closed.until = back(closed.until);
        }
        if let Some(probe) = &mut closed.probe {
            probe.since_at = back(probe.since_at);
        }
    }
}

impl ClosedGate {
    pub(super) fn new(now: Timestamp, why: CloseReason, until: Timestamp) -> ClosedGate {
        ClosedGate { why, at: now, until: until.min(now.plus(MAX_CLOSED)), failed: 0, probe: None }
    }

    /// Whether a probe is in progress.
    pub(super) fn is_probed(&self, now: Timestamp) -> bool {
        self.probe.as_ref().is_some_and(|probe| now.since(probe.since_at) < PROBE)
    }

    pub(super) fn probe(&mut self, now: Timestamp, holder: &PermitHolder) {
        self.probe = Some(GateProbe { holder: holder.clone(), since_at: now });
    }

    /// Stays closed for longer after a failed probe.
    pub(super) fn extend_after_probe(&mut self, now: Timestamp, why: CloseReason, named: Option<Timestamp>, dice: f64) {
        self.failed = self.failed.saturating_add(1);
        let until = backoff(now, self.failed, dice).max(named.unwrap_or(now));
        *self = ClosedGate { failed: self.failed, at: self.at, ..ClosedGate::new(now, why, until) };
    }

    /// Stays closed at least until `until`.
    pub(super) fn lengthen(&mut self, now: Timestamp, until: Timestamp) {
        self.until = self.until.max(until.min(now.plus(MAX_CLOSED)));
    }
}

/// When to try again after a throttle.
pub(super) fn reopening(now: Timestamp, named: Option<Timestamp>, dice: f64) -> Timestamp {
    match named {
        // A little later than named, and spread out.
        Some(named) => named.max(now.plus(SHORTEST)).plus(Duration::from_millis(20).mul_f64(dice)),
        None => backoff(now, 0, dice),
    }
}

/// Exponential backoff, spread over half of its length.
pub(super) fn backoff(now: Timestamp, failed: u32, dice: f64) -> Timestamp {
    let most = FIRST.saturating_mul(1 << failed.min(10)).min(LONGEST);
    now.plus(most.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0))
}
