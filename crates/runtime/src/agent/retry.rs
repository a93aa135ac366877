//! What follows a model that did not answer.

use std::time::Duration;

use model::Facts;
use protocol::{At, ModelFault};
use uuid::Uuid;

/// How often a turn is tried when its model fails for no stated reason.
const TRIES: u32 = 5;

/// How often it is tried when its provider asks to slow down. The governor spaces the tries.
const PATIENT_TRIES: u32 = 20;

/// The longest wait that holds a slot; a longer one is parked.
const PATIENCE: Duration = Duration::from_secs(60);

/// How far apart those come back who wait for one quota.
const RETURN: Duration = Duration::from_secs(3);

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask again after a while.
    Again(Duration),
    /// Wait without a slot until then.
    Park(At),
    /// It will not work.
    GiveUp,
}

/// How often a turn was tried.
#[derive(Debug, Default)]
pub(super) struct Tries {
    waits: Waits,
    all: u32,
    failed: u32,
    slowed: u32,
}

/// Where a run waits that was asked to slow down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Waits {
    /// Where it is, since nobody else knows.
    #[default]
    Here,
    /// With everybody else, at the governor.
    AtGovernor,
}

impl Tries {
    /// The tries of a model, which is governed or not.
    pub(super) fn of(facts: &Facts) -> Tries {
        let waits = if facts.bucket.is_some() { Waits::AtGovernor } else { Waits::Here };
        Tries { waits, ..Tries::default() }
    }

    /// The number of the next try, from 1.
    pub(super) fn next(&mut self) -> u32 {
        self.all += 1;
        self.all
    }

    /// Decides after a fault. `dice` spreads those who failed together.
    pub(super) fn after(&mut self, fault: ModelFault, now: At, dice: Uuid) -> Next {
        match fault {
            ModelFault::Transient => {
                self.failed += 1;
                let wait = Duration::from_millis(200 << self.failed.min(TRIES));
                if self.failed < TRIES { Next::Again(wait.mul_f64(0.5 + share(dice) / 2.0)) } else { Next::GiveUp }
            }
            ModelFault::RetryAfter { millis } => {
                self.slowed += 1;
                match (self.waits, Duration::from_millis(millis)) {
                    _ if self.slowed >= PATIENT_TRIES => Next::GiveUp,
                    (Waits::AtGovernor, _) => Next::Again(Duration::ZERO),
                    (Waits::Here, wait) if wait > PATIENCE => Next::Park(now.plus(wait)),
                    (Waits::Here, wait) => Next::Again(wait),
                }
            }
            ModelFault::QuotaUntil { until_at } => match self.waits {
                Waits::Here => Next::Park(until_at),
                Waits::AtGovernor => Next::Park(until_at.plus(RETURN.mul_f64(share(dice)))),
            },
            ModelFault::Auth
            | ModelFault::TooLong
            | ModelFault::Terminal
            | ModelFault::Cancelled
            | ModelFault::Interrupted => Next::GiveUp,
        }
    }
}

/// A number from 0 to 1 out of the random part of an id.
fn share(dice: Uuid) -> f64 {
    let low = u32::try_from(dice.as_u128() & u128::from(u32::MAX)).unwrap_or(0);
    f64::from(low) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: At = At(1_000);

    fn after(tries: &mut Tries, fault: ModelFault) -> Next {
        tries.after(fault, NOW, Uuid::max())
    }

    #[test]
    fn what_may_pass_is_tried_again_ever_later_and_not_for_ever() {
        let mut tries = Tries::default();
        let waits: Vec<Next> = (1..=TRIES).map(|_| after(&mut tries, ModelFault::Transient)).collect();
        let millis = |millis| Next::Again(Duration::from_millis(millis));
        assert_eq!(waits, [millis(400), millis(800), millis(1600), millis(3200), Next::GiveUp]);
        let soonest = Tries::default().after(ModelFault::Transient, NOW, Uuid::nil());
        assert_eq!(soonest, millis(200));
    }

    #[test]
    fn a_provider_s_word_is_kept_and_a_long_wait_is_parked() {
        let slow = |millis| after(&mut Tries::default(), ModelFault::RetryAfter { millis });
        assert_eq!(slow(1500), Next::Again(Duration::from_millis(1500)));
        assert_eq!(slow(60_000), Next::Again(Duration::from_secs(60)));
        assert_eq!(slow(60_001), Next::Park(At(61_001)));
        let mut tries = Tries { slowed: PATIENT_TRIES, ..Tries::default() };
        assert_eq!(after(&mut tries, ModelFault::RetryAfter { millis: 1 }), Next::GiveUp);
        assert_eq!(after(&mut tries, ModelFault::QuotaUntil { until_at: At(9) }), Next::Park(At(9)));
    }

    #[test]
    fn a_governed_run_waits_with_the_others_and_comes_back_from_a_quota_at_a_moment_of_its_own() {
        let mut tries = Tries::of(&Facts { bucket: Some("b".into()), ..Facts::UNKNOWN });
        for millis in [0, 1500, 3_600_000] {
            assert_eq!(after(&mut tries, ModelFault::RetryAfter { millis }), Next::Again(Duration::ZERO));
        }
        assert_eq!(after(&mut tries, ModelFault::QuotaUntil { until_at: At(9) }), Next::Park(At(3009)));
    }

    #[test]
    fn what_cannot_work_is_not_tried_again() {
        let hopeless = [ModelFault::Auth, ModelFault::Terminal, ModelFault::Cancelled, ModelFault::Interrupted];
        assert!(hopeless.into_iter().all(|fault| after(&mut Tries::default(), fault) == Next::GiveUp));
    }
}
