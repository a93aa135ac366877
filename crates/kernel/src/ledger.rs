//! What a task and everything below it has spent and set aside.

use protocol::{Budget, Cost};

/// One task's account. Spent plus reserved never passes the budget, as long as no call uses more than was set aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The cap.
    pub budget: Budget,
    /// What was used.
    pub spent: Cost,
    /// What is set aside for calls under way.
    pub reserved: Cost,
}

impl Ledger {
    /// An account on which nothing has happened.
    pub fn new(budget: Budget) -> Ledger {
        Ledger { budget, ..Ledger::default() }
    }

    /// Whether `more` can be set aside.
    pub fn has_room(&self, more: Cost) -> bool {
        self.budget.allows(self.spent.plus(self.reserved).plus(more))
    }

    /// Sets `cost` aside.
    pub fn reserve(&mut self, cost: Cost) {
        self.reserved = self.reserved.plus(cost);
    }

    /// Gives `reserved` back and books what was really used.
    pub fn settle(&mut self, reserved: Cost, used: Cost) {
        self.reserved = self.reserved.minus(reserved);
        self.spent = self.spent.plus(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tokens(tokens: u64) -> Cost {
        Cost { tokens, micros: 0 }
    }

    #[test]
    fn room_is_what_is_neither_spent_nor_reserved() {
        let mut ledger = Ledger::new(Budget { tokens: Some(10), micros: None });
        assert!(ledger.has_room(tokens(10)) && !ledger.has_room(tokens(11)));
        ledger.reserve(tokens(6));
        assert!(ledger.has_room(tokens(4)) && !ledger.has_room(tokens(5)));
        ledger.settle(tokens(6), tokens(2));
        assert_eq!((ledger.spent, ledger.reserved), (tokens(2), Cost::ZERO));
        assert!(ledger.has_room(tokens(8)) && !ledger.has_room(tokens(9)));
    }

    #[test]
    fn a_remainder_of_zero_is_a_stop_not_a_licence() {
        let ledger = Ledger::new(Budget { tokens: Some(0), micros: Some(0) });
        assert!(ledger.has_room(Cost::ZERO));
        assert!(!ledger.has_room(tokens(1)));
        assert!(!ledger.has_room(Cost { tokens: 0, micros: 1 }));
    }
}
