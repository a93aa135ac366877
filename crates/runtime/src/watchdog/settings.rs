//! When watching leads to something.

use std::time::Duration;

use host::memory::{MemoryBounds, MemoryGauge};

/// When watching over what runs leads to something.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchdogSettings {
    /// An agent of which nothing was heard for so long is called stalled.
    pub stall_after: Duration,
    /// One of which nothing was heard for so long is given up.
    pub abort_after: Duration,
    /// How much memory is too little for more agents.
    pub memory: MemoryBounds,
    /// Where the machine tells of its memory.
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
