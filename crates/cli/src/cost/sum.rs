//! Adds up. Every line is a sum of turns, and the total is the sum of the lines.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{At, Cost, SessionId, Usage};
use serde::Serialize;
use store::Spending;

use super::today::Today;
use crate::args::By;
use crate::money::Money;

/// Everything that was spent, line by line.
#[derive(Debug)]
pub(super) struct Sums {
    pub(super) by: By,
    pub(super) lines: BTreeMap<Key, Sum>,
    pub(super) total: Sum,
}

/// What a line is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// A model, an agent, a session's title or a task's path.
    pub(super) name: String,
    /// The session, where a line is about one.
    pub(super) session: Option<SessionId>,
}

/// What some turns came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) turns: u64,
    pub(super) usage: Usage,
    pub(super) spent: Cost,
    pub(super) lost: Cost,
    /// Whether some of it has no price.
    unpriced: bool,
    answered: BTreeSet<String>,
}

impl Sums {
    pub(super) fn new(by: By) -> Sums {
        Sums { by, lines: BTreeMap::new(), total: Sum::default() }
    }

    pub(super) fn add(&mut self, session: SessionId, title: &str, spending: Spending) {
        self.total.add(&spending);
        let key = match self.by {
            By::Session => Key { name: title.to_owned(), session: Some(session) },
            By::Model => Key { name: spending.asked.clone(), session: None },
            By::Agent => Key { name: spending.agent.clone(), session: None },
            By::Task => Key { name: spending.path.clone(), session: Some(session) },
        };
        self.lines.entry(key).or_default().add(&spending);
    }

    pub(super) fn written(&self, since: Option<At>, today: Today) -> Written<'_> {
        let by = match self.by {
            By::Session => "session",
            By::Model => "model",
            By::Agent => "agent",
            By::Task => "task",
        };
        let lines = self.lines.iter().map(|(key, sum)| sum.written(Some(key))).collect();
        Written { by, since_at: since, lines, total: self.total.written(None), today }
    }
}

impl Sum {
    fn add(&mut self, spending: &Spending) {
        self.turns += spending.turns;
        self.usage = self.usage.plus(spending.usage);
        self.spent = self.spent.plus(spending.cost);
        self.lost = self.lost.plus(spending.lost);
        self.unpriced |= !spending.priced;
        self.answered.extend(spending.answered.clone());
    }

    pub(super) fn money(&self) -> Money {
        Money::new(self.spent.micros, !self.unpriced)
    }

    /// The money that is known, if there is more that is not.
    pub(super) fn known_part(&self) -> Option<Money> {
        (self.unpriced && self.spent.micros > 0).then_some(Money::Known(self.spent.micros))
    }

    fn written<'a>(&'a self, about: Option<&'a Key>) -> Line<'a> {
        Line {
            name: about.map(|key| &*key.name),
            session: about.and_then(|key| key.session),
            turns: self.turns,
            usage: self.usage,
            unanswered_tokens: self.lost.tokens,
            tokens: self.spent.tokens,
            cost_usd: self.money(),
            cost_micros: self.money().micros(),
            unanswered_micros: self.lost.micros,
            answered: &self.answered,
        }
    }
}

/// The sums as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Written<'a> {
    by: &'static str,
    since_at: Option<At>,
    lines: Vec<Line<'a>>,
    total: Line<'a>,
    today: Today,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    /// A model, an agent, a session's title or a task's path; absent in the total.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// The session, where a line is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    turns: u64,
    usage: Usage,
    /// What questions without an answer are counted as; `usage` and these make `tokens`.
    unanswered_tokens: u64,
    tokens: u64,
    /// All of it; null when some of it has no price.
    cost_usd: Money,
    cost_micros: Option<u64>,
    /// The part of it that questions without an answer are counted as.
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

    fn spending(asked: &str, agent: &str, input: u64, micros: Option<u64>) -> Spending {
        let lost = Cost { tokens: 5, micros: micros.map_or(0, |_| 1) };
        Spending {
            task: TaskId::new(Uuid::nil()),
            path: "/root".into(),
            agent: agent.into(),
            asked: asked.into(),
            answered: Some(format!("{asked}-2026")),
            turns: 1,
            usage: Usage { input, output: 1, cache_read: 2, cache_write: 3 },
            cost: Cost { tokens: input + 6 + lost.tokens, micros: micros.unwrap_or(0) + lost.micros },
            lost,
            priced: micros.is_some(),
        }
    }

    fn sums(by: By) -> Sums {
        let session = |n| SessionId::new(Uuid::from_u128(n));
        let mut sums = Sums::new(by);
        sums.add(session(1), "one", spending("a", "main", 10, Some(100)));
        sums.add(session(1), "one", spending("b", "main", 20, None));
        sums.add(session(2), "two", spending("a", "help", 40, Some(400)));
        sums
    }

    #[test]
    fn lines_add_up_to_the_total_whatever_they_sum_up() {
        for by in [By::Session, By::Model, By::Agent, By::Task] {
            let Sums { lines, total, .. } = sums(by);
            assert_eq!(lines.len(), 2, "{by:?}");
            let spent = lines.values().fold(Cost::ZERO, |sum, line| sum.plus(line.spent));
            let usage = lines.values().fold(Usage::default(), |sum, line| sum.plus(line.usage));
            assert_eq!((spent, usage), (total.spent, total.usage), "{by:?}");
            assert_eq!(total.usage.total() + total.lost.tokens, total.spent.tokens, "{by:?}");
            assert_eq!((total.turns, total.money()), (3, Money::Unknown));
        }
    }

    #[test]
    fn money_is_unknown_only_where_a_price_is_missing() {
        let sums = sums(By::Model);
        let money: Vec<(&str, Money)> = sums.lines.iter().map(|(key, sum)| (&*key.name, sum.money())).collect();
        assert_eq!(money, [("a", Money::Known(502)), ("b", Money::Unknown)]);
        assert_eq!(sums.total.known_part(), Some(Money::Known(502)));
    }
}
