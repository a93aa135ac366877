//! Sums of spending. Every line is a sum of turns, and the total is the sum of the lines.

use std::collections::{BTreeMap, BTreeSet};

use client::TaskSpending;
use protocol::{Cost, SessionId, Timestamp, Usage};
use serde::Serialize;

use super::today::DailySpending;
use crate::args::CostGrouping;
use crate::money::Money;

/// All spending, line by line.
#[derive(Debug)]
pub(super) struct CostTotals {
    pub(super) grouping: CostGrouping,
    pub(super) lines: BTreeMap<CostKey, CostSum>,
    pub(super) total: CostSum,
}

/// The subject of a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CostKey {
    /// A model, an agent, a session's title or a task's path.
    pub(super) name: String,
    /// The session, if a line belongs to one.
    pub(super) session: Option<SessionId>,
}

/// The sum of some turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CostSum {
    pub(super) turns: u64,
    pub(super) usage: Usage,
    pub(super) spent: Cost,
    /// The part charged for requests without an answer.
    pub(super) unanswered: Cost,
    /// Whether some of it has no price.
    unpriced: bool,
    /// The models that answered, as their providers named them.
    answering_models: BTreeSet<String>,
}

impl CostTotals {
    pub(super) fn new(by: CostGrouping) -> CostTotals {
        CostTotals { grouping: by, lines: BTreeMap::new(), total: CostSum::default() }
    }

    pub(super) fn add(&mut self, session: SessionId, title: &str, spending: TaskSpending) {
        self.total.add(&spending);
        let key = match self.grouping {
            CostGrouping::Session => CostKey { name: title.to_owned(), session: Some(session) },
            CostGrouping::Model => CostKey { name: spending.requested_model.clone(), session: None },
            CostGrouping::Agent => CostKey { name: spending.agent.clone(), session: None },
            CostGrouping::Task => CostKey { name: spending.path.clone(), session: Some(session) },
        };
        self.lines.entry(key).or_default().add(&spending);
    }

    pub(super) fn to_report(&self, since: Option<Timestamp>, today: DailySpending) -> CostReport<'_> {
        let by = match self.grouping {
            CostGrouping::Session => "session",
            CostGrouping::Model => "model",
            CostGrouping::Agent => "agent",
            CostGrouping::Task => "task",
        };
        let lines = self.lines.iter().map(|(key, sum)| sum.to_row(Some(key))).collect();
        CostReport { by, since_at: since, lines, total: self.total.to_row(None), today }
    }
}

impl CostSum {
    fn add(&mut self, spending: &TaskSpending) {
        self.turns += spending.turns;
        self.usage = self.usage.plus(spending.usage);
        self.spent = self.spent.plus(spending.cost);
        self.unanswered = self.unanswered.plus(spending.lost);
        self.unpriced |= !spending.priced;
        self.answering_models.extend(spending.reported_model.clone());
    }

    pub(super) fn money(&self) -> Money {
        Money::new(self.spent.micros, !self.unpriced)
    }

    /// The known part of the cost, if another part is unknown.
    pub(super) fn known_part(&self) -> Option<Money> {
        (self.unpriced && self.spent.micros > 0).then_some(Money::Known(self.spent.micros))
    }

    fn to_row<'a>(&'a self, key: Option<&'a CostKey>) -> CostRow<'a> {
        CostRow {
            name: key.map(|key| &*key.name),
            session: key.and_then(|key| key.session),
            turns: self.turns,
            usage: self.usage,
            unanswered_tokens: self.unanswered.tokens,
            tokens: self.spent.tokens,
            cost_usd: self.money(),
            cost_micros: self.money().micros(),
            unanswered_micros: self.unanswered.micros,
            answered: &self.answering_models,
        }
    }
}

/// The sums as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CostReport<'a> {
    by: &'static str,
    since_at: Option<Timestamp>,
    lines: Vec<CostRow<'a>>,
    total: CostRow<'a>,
    today: DailySpending,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CostRow<'a> {
    /// A model, an agent, a session's title or a task's path; absent in the total.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The session, if a line belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    turns: u64,
    usage: Usage,
    /// Tokens charged for requests without an answer; `usage` and these make `tokens`.
    unanswered_tokens: u64,
    tokens: u64,
    /// All of it; null when some of it has no price.
    cost_usd: Money,
    cost_micros: Option<u64>,
    /// The part charged for requests without an answer.
    unanswered_micros: u64,
    /// The models that answered, as their providers named them.
    answered: &'a BTreeSet<String>,
}

#[cfg(test)]
mod random;

#[cfg(test)]
mod tests {
    use protocol::TaskId;
    use uuid::Uuid;

    use super::*;

    fn spending(model: &str, agent: &str, input: u64, micros: Option<u64>) -> TaskSpending {
        let lost = Cost { tokens: 5, micros: micros.map_or(0, |_| 1) };
        TaskSpending {
            task: TaskId::new(Uuid::nil()),
            path: "/root".into(),
            agent: agent.into(),
            requested_model: model.into(),
            reported_model: Some(format!("{model}-2026")),
            turns: 1,
            usage: Usage { input, output: 1, cache_read: 2, cache_write: 3 },
            cost: Cost { tokens: input + 6 + lost.tokens, micros: micros.unwrap_or(0) + lost.micros },
            lost,
            priced: micros.is_some(),
        }
    }

    fn sums(by: CostGrouping) -> CostTotals {
        let session = |n| SessionId::new(Uuid::from_u128(n));
        let mut sums = CostTotals::new(by);
        sums.add(session(1), "one", spending("a", "main", 10, Some(100)));
        sums.add(session(1), "one", spending("b", "main", 20, None));
        sums.add(session(2), "two", spending("a", "help", 40, Some(400)));
        sums
    }

    #[test]
    fn lines_add_up_to_the_total_for_every_grouping() {
        for by in [CostGrouping::Session, CostGrouping::Model, CostGrouping::Agent, CostGrouping::Task] {
            let CostTotals { lines, total, .. } = sums(by);
            assert_eq!(lines.len(), 2, "{by:?}");
            let spent = lines.values().fold(Cost::ZERO, |sum, line| sum.plus(line.spent));
            let usage = lines.values().fold(Usage::default(), |sum, line| sum.plus(line.usage));
            assert_eq!((spent, usage), (total.spent, total.usage), "{by:?}");
            assert_eq!(total.usage.total() + total.unanswered.tokens, total.spent.tokens, "{by:?}");
            assert_eq!((total.turns, total.money()), (3, Money::Unknown));
        }
    }

    #[test]
    fn money_is_unknown_only_where_a_price_is_missing() {
        let sums = sums(CostGrouping::Model);
        let money: Vec<(&str, Money)> = sums.lines.iter().map(|(key, sum)| (&*key.name, sum.money())).collect();
        assert_eq!(money, [("a", Money::Known(502)), ("b", Money::Unknown)]);
        assert_eq!(sums.total.known_part(), Some(Money::Known(502)));
    }
}
