//! The thresholds of the watchdog.

use std::time::Duration;

use host::memory::{MemoryBounds, MemoryGauge};

/// The thresholds of the watchdog.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchdogSettings {
    /// An agent that is silent for this long is marked as stalled.
    pub stall_after: Duration,
    /// An agent that is silent for this long is aborted.
    pub abort_after: Duration,
    /// The memory below which no new agents start.
    pub memory: MemoryBounds,
    /// Reads the memory of the machine.
    pub gauge: MemoryGauge,
}

impl Default for WatchdogSettings {
    fn default() -> WatchdogSettings {
        WatchdogSettings {
            stall_after: Duration::from_secs(5 * 60),
            abort_after: Duration::from_secs(30 * 60),
            memory: MemoryBounds::default(),
            gauge: MemoryGauge::default(),
        }
    }
}
