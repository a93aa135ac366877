//! Signs of life, left where a run works and looked for by whoever watches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The signs of life of one run. Copies are of the same run.
#[derive(Debug, Clone, Default)]
pub struct Pulse(Arc<Signs>);

#[derive(Debug, Default)]
struct Signs {
    beaten: AtomicBool,
    resting: AtomicU32,
}

impl Pulse {
    /// Shows a sign of life. It is one store and no look at a clock, so it may stand in a loop.
    pub fn beat(&self) {
        self.0.beaten.store(true, Ordering::Relaxed);
    }

    /// Says that there is a good reason for silence, until what it gives is dropped.
    #[must_use = "the rest ends when this is dropped"]
    pub fn rest(&self) -> Resting {
        self.0.resting.fetch_add(1, Ordering::Relaxed);
        Resting(self.clone())
    }

    /// Whether there was a sign of life, or a reason for none, since the last look.
    pub fn look(&self) -> bool {
        let beaten = self.0.beaten.swap(false, Ordering::Relaxed);
        beaten || self.0.resting.load(Ordering::Relaxed) > 0
    }
}

/// A good reason for silence.
#[derive(Debug)]
pub struct Resting(Pulse);

impl Drop for Resting {
    fn drop(&mut self) {
        // Silence counts from here on.
        self.0.beat();
        self.0.0.resting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_seen_once_and_a_rest_as_long_as_it_lasts() {
        let pulse = Pulse::default();
        assert!(!pulse.look());
        pulse.clone().beat();
        assert!(pulse.look() && !pulse.look());
        let (one, other) = (pulse.rest(), pulse.rest());
        assert!(pulse.look() && pulse.look());
        drop(one);
        assert!(pulse.look() && pulse.look());
        drop(other);
        assert!(pulse.look() && !pulse.look());
    }
}
