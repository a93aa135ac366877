//! What to do after a model request failed.

use std::time::Duration;

use kernel::Parking;
use model::ModelFacts;
use protocol::{ModelFault, ParkReason, RetryPlan, Timestamp};
use uuid::Uuid;

/// How often a turn is tried when its model fails for no stated reason or is unreachable.
const MAX_TRIES: u32 = 5;

/// How often a turn is tried when its provider asks to slow down. The governor spaces the tries.
const MAX_THROTTLED_TRIES: u32 = 20;

/// How often a turn is tried when its provider is overloaded: about five minutes.
const MAX_OVERLOADED_TRIES: u32 = 14;

/// The longest time between two tries to reach a server, short enough to notice soon that it is back.
const MAX_UNREACHABLE_BACKOFF: Duration = Duration::from_secs(4);

/// The longest time between two tries of an overloaded server.
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The longest wait that keeps a slot; for a longer wait, the run parks.
const MAX_WAIT_IN_SLOT: Duration = Duration::from_secs(60);

/// The period over which runs that wait for the same quota are spread when they resume.
const RESUME_SPREAD: Duration = Duration::from_secs(3);

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryDecision {
    /// Send the request again after this wait.
    Retry(Duration, RetryPlan),
    /// Wait without a slot.
    Park(Parking),
    /// Fail the activation.
    GiveUp,
    /// End the activation as timed out.
    TimeIsUp,
}

impl RetryDecision {
    /// Tries again, or gives up after `max_tries` failures. `shown_wait` is the wait that is shown to the user.
    fn retry_or_give_up(after: Duration, shown_wait: Duration, failed: u32, max_tries: u32) -> RetryDecision {
        if failed >= max_tries {
            return RetryDecision::GiveUp;
        }
        let in_millis = u64::try_from(shown_wait.as_millis()).unwrap_or(u64::MAX);
        RetryDecision::Retry(after, RetryPlan { attempt: failed + 1, of: max_tries, in_millis })
    }

    /// The decision for a run whose time is up: its last turn has one try.
    pub(super) fn when_time_is_up(self) -> RetryDecision {
        match self {
            RetryDecision::Retry(..) => RetryDecision::TimeIsUp,
            other @ (RetryDecision::Park(_) | RetryDecision::GiveUp | RetryDecision::TimeIsUp) => other,
        }
    }

    fn park(until: Timestamp) -> RetryDecision {
        RetryDecision::Park(Parking { until: Some(until), why: ParkReason::Quota })
    }
}

/// How often a turn was tried, and how often it failed for which reason.
#[derive(Debug, Default)]
pub(super) struct RetryState {
    wait_place: RetryWaitPlace,
    attempts: u32,
    transient_failures: u32,
    unreachable_failures: u32,
    overloaded_failures: u32,
    throttled_failures: u32,
}

/// Where a run waits when the provider asks it to slow down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RetryWaitPlace {
    /// In the run itself: the model has no bucket.
    #[default]
    InRun,
    /// At the governor, with the other runs of the bucket.
    AtGovernor,
}

impl RetryState {
    /// The state for a new turn with this model.
    pub(super) fn for_model(facts: &ModelFacts) -> RetryState {
        let wait_place = if facts.bucket_key.is_some() { RetryWaitPlace::AtGovernor } else { RetryWaitPlace::InRun };
        RetryState { wait_place, ..RetryState::default() }
    }

    /// Counts another try and returns its number, from 1.
    pub(super) fn next_attempt(&mut self) -> u32 {
        self.attempts += 1;
        self.attempts
    }

    /// Decides after a fault. `random` spreads the retries of runs that failed together.
    pub(super) fn decide(&mut self, fault: ModelFault, now: Timestamp, random: Uuid) -> RetryDecision {
        let spread = |wait: Duration| wait.mul_f64(0.5 + random_fraction(random) / 2.0);
        match fault {
            ModelFault::Transient => {
                self.transient_failures += 1;
                let wait = spread(backoff(Duration::from_millis(200), self.transient_failures, MAX_BACKOFF));
                RetryDecision::retry_or_give_up(wait, wait, self.transient_failures, MAX_TRIES)
            }
            ModelFault::Unreachable => {
                self.unreachable_failures += 1;
                let wait = backoff(Duration::from_millis(500), self.unreachable_failures, MAX_UNREACHABLE_BACKOFF);
                RetryDecision::retry_or_give_up(wait, wait, self.unreachable_failures, MAX_TRIES)
            }
            ModelFault::Overloaded => {
                self.overloaded_failures += 1;
                let wait = spread(backoff(Duration::from_millis(500), self.overloaded_failures, MAX_BACKOFF));
                RetryDecision::retry_or_give_up(wait, wait, self.overloaded_failures, MAX_OVERLOADED_TRIES)
            }
            ModelFault::RetryAfter { millis } => {
                self.throttled_failures += 1;
                let wait = Duration::from_millis(millis);
                match self.wait_place {
                    RetryWaitPlace::InRun
                        if wait > MAX_WAIT_IN_SLOT && self.throttled_failures < MAX_THROTTLED_TRIES =>
                    {
                        RetryDecision::park(now.plus(wait))
                    }
                    RetryWaitPlace::InRun => {
                        RetryDecision::retry_or_give_up(wait, wait, self.throttled_failures, MAX_THROTTLED_TRIES)
                    }
                    RetryWaitPlace::AtGovernor => RetryDecision::retry_or_give_up(
                        Duration::ZERO,
                        wait,
                        self.throttled_failures,
                        MAX_THROTTLED_TRIES,
                    ),
                }
            }
            ModelFault::QuotaUntil { until_at } => match self.wait_place {
                RetryWaitPlace::InRun => RetryDecision::park(until_at),
                RetryWaitPlace::AtGovernor => {
                    RetryDecision::park(until_at.plus(RESUME_SPREAD.mul_f64(random_fraction(random))))
                }
            },
            ModelFault::Auth
            | ModelFault::TooLong
            | ModelFault::Terminal
            | ModelFault::Cancelled
            | ModelFault::Interrupted => RetryDecision::GiveUp,
        }
    }
}

/// Doubles the wait with each failure.
fn backoff(first: Duration, failed: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << failed.min(10)).min(longest)
}

/// A number from 0 to 1, made from the random part of an id.
fn random_fraction(random: Uuid) -> f64 {
    let low = u32::try_from(random.as_u128() & u128::from(u32::MAX)).unwrap_or(0);
    f64::from(low) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000);

    fn decide_at_now(tries: &mut RetryState, fault: ModelFault) -> RetryDecision {
        tries.decide(fault, NOW, Uuid::max())
    }

    fn waits(fault: ModelFault) -> Vec<u64> {
        let mut tries = RetryState::default();
        let mut waits = Vec::new();
        while let RetryDecision::Retry(wait, retry) = decide_at_now(&mut tries, fault) {
            let attempt = u32::try_from(waits.len()).unwrap() + 2;
            assert_eq!((retry.attempt, u128::from(retry.in_millis)), (attempt, wait.as_millis()));
            waits.push(retry.in_millis);
        }
        waits
    }

    #[test]
    fn transient_faults_are_retried_with_growing_waits_up_to_a_limit() {
        assert_eq!(waits(ModelFault::Transient), [400, 800, 1600, 3200]);
        let soonest = RetryState::default().decide(ModelFault::Transient, NOW, Uuid::nil());
        assert!(matches!(soonest, RetryDecision::Retry(wait, _) if wait == Duration::from_millis(200)));
    }

    #[test]
    fn an_unreachable_server_is_retried_quickly_and_given_up_soon() {
        assert_eq!(waits(ModelFault::Unreachable), [1_000, 2_000, 4_000, 4_000]);
    }

    #[test]
    fn an_overloaded_server_is_tried_for_minutes() {
        let waits = waits(ModelFault::Overloaded);
        assert_eq!(waits[..6], [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
        let all: u64 = waits.iter().sum();
        assert!((240_000..360_000).contains(&all), "{all}");
    }

    fn parked(until: Timestamp) -> RetryDecision {
        RetryDecision::park(until)
    }

    fn waits_for(next: RetryDecision) -> Option<Duration> {
        match next {
            RetryDecision::Retry(after, _) => Some(after),
            RetryDecision::Park(_) | RetryDecision::GiveUp | RetryDecision::TimeIsUp => None,
        }
    }

    #[test]
    fn a_wait_that_the_provider_asks_for_is_kept_and_a_long_one_parks_the_run() {
        let slow = |millis| decide_at_now(&mut RetryState::default(), ModelFault::RetryAfter { millis });
        assert_eq!(waits_for(slow(1500)), Some(Duration::from_millis(1500)));
        assert_eq!(waits_for(slow(60_000)), Some(Duration::from_secs(60)));
        assert_eq!(slow(60_001), parked(Timestamp(61_001)));
        let mut tries = RetryState { throttled_failures: MAX_THROTTLED_TRIES, ..RetryState::default() };
        assert_eq!(decide_at_now(&mut tries, ModelFault::RetryAfter { millis: 1 }), RetryDecision::GiveUp);
        assert_eq!(decide_at_now(&mut tries, ModelFault::QuotaUntil { until_at: Timestamp(9) }), parked(Timestamp(9)));
    }

    #[test]
    fn a_governed_run_waits_at_the_governor_and_resumes_after_a_quota_with_a_random_delay() {
        let mut tries = RetryState::for_model(&ModelFacts { bucket_key: Some("b".into()), ..ModelFacts::UNKNOWN });
        for millis in [0, 1500, 3_600_000] {
            let next = decide_at_now(&mut tries, ModelFault::RetryAfter { millis });
            assert_eq!(waits_for(next), Some(Duration::ZERO));
        }
        assert_eq!(
            decide_at_now(&mut tries, ModelFault::QuotaUntil { until_at: Timestamp(9) }),
            parked(Timestamp(3009))
        );
    }

    #[test]
    fn permanent_faults_are_not_retried() {
        let hopeless = [ModelFault::Auth, ModelFault::Terminal, ModelFault::Cancelled, ModelFault::Interrupted];
        assert!(
            hopeless.into_iter().all(|fault| decide_at_now(&mut RetryState::default(), fault) == RetryDecision::GiveUp)
        );
    }
}
