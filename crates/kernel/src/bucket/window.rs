//! How many requests may be in progress at once.

use serde::{Deserialize, Serialize};

const INITIAL_SIZE: u32 = 32;
const MIN_SIZE: u32 = 4;
const MAX_SIZE: u32 = 1024;

/// A limit on the requests in progress. It grows while it delays requests and the provider throttles none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestWindow {
    size: u32,
    /// Answers since the size last changed.
    answered: u32,
    /// Whether the window delayed a request since its size last changed. Otherwise it does not grow.
    full: bool,
    growth: WindowGrowth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum WindowGrowth {
    /// Doubles: the provider has throttled no request so far.
    Double,
    /// Grows by an eighth: the provider's limit is near.
    Add,
}

impl Default for RequestWindow {
    fn default() -> RequestWindow {
        RequestWindow { size: INITIAL_SIZE, answered: 0, full: false, growth: WindowGrowth::Double }
    }
}

impl RequestWindow {
    pub(super) fn size(&self) -> u32 {
        self.size.clamp(MIN_SIZE, MAX_SIZE)
    }

    /// The size if the server states how many requests it accepts. This number is trusted until the server throttles.
    pub(super) fn size_for_server(&self, server_limit: u32) -> u32 {
        match self.growth {
            WindowGrowth::Double => server_limit.max(1),
            WindowGrowth::Add => server_limit.max(1).min(self.size()),
        }
    }

    /// Notes that the window delayed a request.
    pub(super) fn mark_full(&mut self) {
        self.full = true;
    }

    /// Counts an answer. A full window grows after as many answers as its size.
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
        *self = RequestWindow { size: (size + more).min(MAX_SIZE), answered: 0, full: false, growth: self.growth };
    }

    /// Halves the size after a throttle. After the first one, only if the window was full: otherwise the pace was too
    /// fast.
    pub(super) fn shrink_after_throttle(&mut self) {
        if self.full || self.growth == WindowGrowth::Double {
            self.halve();
        }
    }

    pub(super) fn halve(&mut self) {
        let size = (self.size() / 2).max(MIN_SIZE);
        *self = RequestWindow { size, answered: 0, full: false, growth: WindowGrowth::Add };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_server_limit_is_trusted_until_the_first_throttle() {
        let mut window = RequestWindow::default();
        assert_eq!([0, 1, 4_000].map(|most| window.size_for_server(most)), [1, 1, 4_000]);
        window.shrink_after_throttle();
        assert_eq!([0, 1, 4_000].map(|most| window.size_for_server(most)), [1, 1, INITIAL_SIZE / 2]);
    }
}
