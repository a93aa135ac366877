//! Signs of life of a run, which the watchdog checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The signs of life of one run. Clones belong to the same run.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat(Arc<HeartbeatState>);

#[derive(Debug, Default)]
struct HeartbeatState {
    has_beaten: AtomicBool,
    pauses: AtomicU32,
}

impl Heartbeat {
    /// Records a sign of life. It is one store without a clock read, so it can be called in a loop.
    pub fn beat(&self) {
        self.0.has_beaten.store(true, Ordering::Relaxed);
    }

    /// Declares a good reason for silence, until the returned value is dropped.
    #[must_use = "the pause ends when this is dropped"]
    pub fn pause(&self) -> HeartbeatPause {
        self.0.pauses.fetch_add(1, Ordering::Relaxed);
        HeartbeatPause(self.clone())
    }

    /// Whether there was a sign of life, or a pause, since the last check.
    pub fn check_alive(&self) -> bool {
        let beaten = self.0.has_beaten.swap(false, Ordering::Relaxed);
        beaten || self.0.pauses.load(Ordering::Relaxed) > 0
    }
}

/// A good reason for silence.
#[derive(Debug)]
pub struct HeartbeatPause(Heartbeat);

impl Drop for HeartbeatPause {
    fn drop(&mut self) {
        // The allowed silence starts here.
        self.0.beat();
        self.0.0.pauses.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_reported_once_and_a_pause_while_it_lasts() {
        let heartbeat = Heartbeat::default();
        assert!(!heartbeat.check_alive());
        heartbeat.clone().beat();
        assert!(heartbeat.check_alive() && !heartbeat.check_alive());
        let (one, other) = (heartbeat.pause(), heartbeat.pause());
        assert!(heartbeat.check_alive() && heartbeat.check_alive());
        drop(one);
        assert!(heartbeat.check_alive() && heartbeat.check_alive());
        drop(other);
        assert!(heartbeat.check_alive() && !heartbeat.check_alive());
    }
}
