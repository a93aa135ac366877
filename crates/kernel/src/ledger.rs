//! What a task and everything below it has spent and reserved.

use protocol::{Budget, Cost};

/// One task's account. Spent plus reserved never exceeds the budget, as long as no call uses more than its reservation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BudgetLedger {
    /// The cap.
    pub budget: Budget,
    /// What was used.
    pub spent: Cost,
    /// What is reserved for calls in progress.
    pub reserved: Cost,
}

impl BudgetLedger {
    /// An empty account.
    pub fn new(budget: Budget) -> BudgetLedger {
        BudgetLedger { budget, ..BudgetLedger::default() }
    }

    /// What can still be reserved.
    pub fn room(&self) -> Budget {
        self.budget.minus(self.spent.plus(self.reserved))
    }

    /// Whether most of the budget is spent: four fifths of it.
    pub fn is_low(&self) -> bool {
        let low = |cap: Option<u64>, spent: u64| cap.is_some_and(|cap| u128::from(spent) * 5 >= u128::from(cap) * 4);
        low(self.budget.tokens, self.spent.tokens) || low(self.budget.micros, self.spent.micros)
    }

    /// Reserves `cost`.
    pub fn reserve(&mut self, cost: Cost) {
        self.reserved = self.reserved.plus(cost);
    }

    /// Releases `reserved` and adds the real cost to what was spent.
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
        let mut ledger = BudgetLedger::new(Budget { tokens: Some(10), micros: None });
        let has_room = |ledger: &BudgetLedger, more| ledger.room().allows(tokens(more));
        assert!(has_room(&ledger, 10) && !has_room(&ledger, 11));
        ledger.reserve(tokens(6));
        assert!(has_room(&ledger, 4) && !has_room(&ledger, 5));
        ledger.settle(tokens(6), tokens(2));
        assert_eq!((ledger.spent, ledger.reserved), (tokens(2), Cost::ZERO));
        assert!(has_room(&ledger, 8) && !has_room(&ledger, 9));
    }

    #[test]
    fn a_remaining_budget_of_zero_allows_no_cost() {
        let room = BudgetLedger::new(Budget { tokens: Some(0), micros: Some(0) }).room();
        assert!(room.allows(Cost::ZERO));
        assert!(!room.allows(tokens(1)));
        assert!(!room.allows(Cost { tokens: 0, micros: 1 }));
    }

    #[test]
    fn a_budget_is_low_from_four_fifths_on() {
        let low = |cap, spent| {
            let mut ledger = BudgetLedger::new(Budget { tokens: cap, micros: None });
            ledger.settle(Cost::ZERO, tokens(spent));
            ledger.is_low()
        };
        assert_eq!((low(Some(10), 7), low(Some(10), 8), low(Some(0), 0), low(None, 9)), (false, true, true, false));
    }
}
