//! What follows a model that did not answer.

use std::time::Duration;

use protocol::{At, ModelFault};

/// How often a turn is tried again.
const TRIES: u32 = 5;

/// The longest wait that is worth it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask again after a while.
    Again(Duration),
    /// Wait without a slot until a quota resets.
    Park(At),
    /// It will not work.
    GiveUp,
}

/// Decides after `tries` tries.
pub(super) fn next(fault: ModelFault, tries: u32) -> Next {
    match fault {
        ModelFault::Transient if tries < TRIES => Next::Again(Duration::from_millis(200 << tries)),
        ModelFault::RetryAfter { millis } if tries < TRIES && Duration::from_millis(millis) <= PATIENCE => {
            Next::Again(Duration::from_millis(millis))
        }
        ModelFault::QuotaUntil { until_at } => Next::Park(until_at),
        ModelFault::Transient
        | ModelFault::RetryAfter { .. }
        | ModelFault::Auth
        | ModelFault::Terminal
        | ModelFault::Cancelled
        | ModelFault::Interrupted => Next::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_ever_later_and_not_for_ever() {
        let waits: Vec<Next> = (1..=TRIES).map(|tries| next(ModelFault::Transient, tries)).collect();
        let millis = |millis| Next::Again(Duration::from_millis(millis));
        assert_eq!(waits, [millis(400), millis(800), millis(1600), millis(3200), Next::GiveUp]);
    }

    #[test]
    fn a_provider_s_word_is_kept_within_reason() {
        let after = |millis, tries| next(ModelFault::RetryAfter { millis }, tries);
        assert_eq!(after(1500, 1), Next::Again(Duration::from_millis(1500)));
        assert_eq!(after(60_000, 1), Next::Again(Duration::from_secs(60)));
        assert_eq!((after(60_001, 1), after(1, TRIES)), (Next::GiveUp, Next::GiveUp));
        assert_eq!(next(ModelFault::QuotaUntil { until_at: At(9) }, 9), Next::Park(At(9)));
    }

    #[test]
    fn what_cannot_work_is_not_tried_again() {
        let hopeless = [ModelFault::Auth, ModelFault::Terminal, ModelFault::Cancelled, ModelFault::Interrupted];
        assert!(hopeless.into_iter().all(|fault| next(fault, 1) == Next::GiveUp));
    }
}
