//! How many requests may be in progress at once.

use serde::{Deserialize, Serialize};

const FIRST: u32 = 32;
const LEAST: u32 = 4;
const MOST: u32 = 1024;

/// A limit on the requests in progress, which grows while it is too small and nothing is throttled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestWindow {
    size: u32,
    /// Answers since it last grew.
    answered: u32,
    /// Whether a request had to wait for it since it last changed. An unused window does not grow.
    full: bool,
    growth: WindowGrowth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum WindowGrowth {
    /// Nothing was throttled so far.
    Double,
    /// The limit is near.
    Add,
}

impl Default for RequestWindow {
    fn default() -> RequestWindow {
        RequestWindow { size: FIRST, answered: 0, full: false, growth: WindowGrowth::Double }
    }
}

impl RequestWindow {
    pub(super) fn size(&self) -> u32 {
        self.size.clamp(LEAST, MOST)
    }

    /// The size when the server says how many requests it accepts, which is trusted until it throttles.
    pub(super) fn size_within(&self, most: u32) -> u32 {
        match self.growth {
            WindowGrowth::Double => most.max(1),
            WindowGrowth::Add => most.max(1).min(self.size()),
        }
    }

    /// Notes that a request had to wait for it.
    pub(super) fn mark_full(&mut self) {
        self.full = true;
    }

    /// Counts an answer; after as many answers as its size, a full window grows.
    pub(super) fn answered(&mut self) {
        self.answered = self.answered.saturating_add(1);
        let size = self.size();
        if !self.full || self.answered < size {
            return;
        }
        let more = match self.growth {
            WindowGrowth::Double => size,
            WindowGrowth::Add => 1 + size / 8,
        };
        *self = RequestWindow { size: (size + more).min(MOST), answered: 0, full: false, growth: self.growth };
    }

    /// Halves after a throttle, unless it was not full: then the pace was too fast.
    pub(super) fn throttled(&mut self) {
        if self.full || self.growth == WindowGrowth::Double {
            self.halve();
        }
    }

    pub(super) fn halve(&mut self) {
        let size = (self.size() / 2).max(LEAST);
        *self = RequestWindow { size, answered: 0, full: false, growth: WindowGrowth::Add };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_it_takes_is_believed_until_it_asks_to_slow_down() {
        let mut window = RequestWindow::default();
        assert_eq!([0, 1, 4_000].map(|most| window.size_within(most)), [1, 1, 4_000]);
        window.throttled();
        assert_eq!([0, 1, 4_000].map(|most| window.size_within(most)), [1, 1, FIRST / 2]);
    }
}
