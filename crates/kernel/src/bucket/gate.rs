//! Whether a bucket is open or closed, and for how long.

use std::time::Duration;

use protocol::Timestamp;
use serde::{Deserialize, Serialize};

use super::PermitHolder;

/// The longest first closing if the provider states no end; it doubles with each failed probe.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// The longest closing if the provider states no end.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The shortest closing: by then, requests in progress have returned and reported whether they were throttled.
const MIN_CLOSED: Duration = Duration::from_millis(250);

/// A bucket is never closed for longer than this without a probe, even if the provider states a later time.
const MAX_CLOSED: Duration = Duration::from_secs(31 * 24 * 3600);

/// A probe that takes longer than this no longer prevents other probes.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a bucket admits requests.
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
    /// When it closed.
    pub(super) at: Timestamp,
    /// The earliest time of the next probe.
    pub(super) until: Timestamp,
    /// How many probes have failed.
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
    /// When it started.
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
        self.probe.as_ref().is_some_and(|probe| now.since(probe.since_at) < PROBE_TIMEOUT)
    }

    pub(super) fn probe(&mut self, now: Timestamp, holder: &PermitHolder) {
        self.probe = Some(GateProbe { holder: holder.clone(), since_at: now });
    }

    /// Keeps the gate closed after a failed probe, at least until `stated`, the time that the provider stated, if any.
    pub(super) fn extend_after_probe(
        &mut self,
        now: Timestamp,
        why: CloseReason,
        stated: Option<Timestamp>,
        jitter: f64,
    ) {
        self.failed = self.failed.saturating_add(1);
        let until = backoff(now, self.failed, jitter).max(stated.unwrap_or(now));
        *self = ClosedGate { failed: self.failed, at: self.at, ..ClosedGate::new(now, why, until) };
    }

    /// Keeps the gate closed at least until `until`.
    pub(super) fn extend_until(&mut self, now: Timestamp, until: Timestamp) {
        self.until = self.until.max(until.min(now.plus(MAX_CLOSED)));
    }
}

/// When to try again after a throttle: at the time that the provider stated, or after a backoff.
pub(super) fn reopening_time(now: Timestamp, stated: Option<Timestamp>, jitter: f64) -> Timestamp {
    match stated {
        // A little later than stated, and spread out.
        Some(stated) => stated.max(now.plus(MIN_CLOSED)).plus(Duration::from_millis(20).mul_f64(jitter)),
        None => backoff(now, 0, jitter),
    }
}

/// Exponential backoff, spread over half of its length.
pub(super) fn backoff(now: Timestamp, failed: u32, jitter: f64) -> Timestamp {
    let longest = FIRST_BACKOFF.saturating_mul(1 << failed.min(10)).min(MAX_BACKOFF);
    now.plus(longest.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0))
}
