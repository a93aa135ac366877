//! What sessions used and spent, from the index, or from their own files if only a part is wanted.

use std::collections::BTreeMap;

use host::Home;
use protocol::api::{UnreadableSession, UsageGrouping, UsageLine, UsageParams, UsageReport, UsageSum};
use protocol::{SessionId, Timestamp};
use store::{SessionIndex, StoreError, TaskSpending};

use crate::StoredSession;

/// Whose usage to add up, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    /// Only these sessions; all when empty.
    pub sessions: Vec<SessionId>,
    /// Only sessions that work in this folder.
    pub cwd: Option<String>,
    /// Only turns that began at this time or later.
    pub since_at: Option<Timestamp>,
    /// What each line is the sum of.
    pub by: UsageGrouping,
}

impl From<UsageParams> for UsageQuery {
    fn from(UsageParams { session, cwd, since_at, by }: UsageParams) -> UsageQuery {
        UsageQuery { sessions: session.into_iter().collect(), cwd, since_at, by }
    }
}

/// Adds up the usage. A session that cannot be read is named and left out.
pub fn report(home: &Home, query: &UsageQuery) -> Result<UsageReport, StoreError> {
    let since = query.since_at.unwrap_or_default();
    let mut totals = UsageTotals::new(query.by);
    let mut unreadable = Vec::new();
    for id in add_indexed(home, query, since, &mut totals)? {
        match read_session(home, id, since) {
            Ok((title, spendings)) => spendings.iter().for_each(|spending| totals.add(id, &title, spending)),
            Err(error) => unreadable.push(UnreadableSession { session: id, why: error.to_string() }),
        }
    }
    Ok(totals.into_report(unreadable))
}

/// Adds the spending in the index. Returns the sessions whose own files must be read: named ones, and those of which
/// only a part is wanted.
fn add_indexed(
    home: &Home,
    query: &UsageQuery,
    since: Timestamp,
    totals: &mut UsageTotals,
) -> Result<Vec<SessionId>, StoreError> {
    if !query.sessions.is_empty() {
        let mut ids = query.sessions.clone();
        ids.sort_unstable();
        ids.dedup();
        return Ok(ids);
    }
    let indexed = SessionIndex::open_reconciled(home)?.spendings(query.cwd.as_deref(), since)?;
    indexed.spendings.iter().for_each(|(id, title, spending)| totals.add(*id, title, spending));
    Ok(indexed.partly_counted)
}

fn read_session(home: &Home, id: SessionId, since: Timestamp) -> Result<(String, Vec<TaskSpending>), StoreError> {
    let stored = StoredSession::open(home, id)?;
    Ok((stored.view()?.title, stored.spendings(since)?))
}

/// The sums of all lines, while they are added up.
#[derive(Debug)]
struct UsageTotals {
    by: UsageGrouping,
    lines: BTreeMap<(String, Option<SessionId>), UsageSum>,
    total: UsageSum,
}

impl UsageTotals {
    fn new(by: UsageGrouping) -> UsageTotals {
        UsageTotals { by, lines: BTreeMap::new(), total: UsageSum::nothing() }
    }

    fn add(&mut self, session: SessionId, title: &str, spending: &TaskSpending) {
        add_to(&mut self.total, spending);
        let key = match self.by {
            UsageGrouping::Session => (title.to_owned(), Some(session)),
            UsageGrouping::Model => (spending.requested_model.clone(), None),
            UsageGrouping::Agent => (spending.agent.clone(), None),
            UsageGrouping::Task => (spending.path.clone(), Some(session)),
        };
        add_to(self.lines.entry(key).or_insert_with(UsageSum::nothing), spending);
    }

    fn into_report(self, unreadable: Vec<UnreadableSession>) -> UsageReport {
        let line = |((name, session), sum)| UsageLine { name, session, sum };
        UsageReport { by: self.by, lines: self.lines.into_iter().map(line).collect(), total: self.total, unreadable }
    }
}

fn add_to(sum: &mut UsageSum, spending: &TaskSpending) {
    sum.turns += spending.turns;
    sum.usage = sum.usage.plus(spending.usage);
    sum.spent = sum.spent.plus(spending.cost);
    sum.unanswered = sum.unanswered.plus(spending.lost);
    sum.priced &= spending.priced;
    sum.answered.extend(spending.reported_model.clone());
}

#[cfg(test)]
mod random;

#[cfg(test)]
mod tests {
    use protocol::{Cost, TaskId, Usage};
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

    fn report_by(by: UsageGrouping) -> UsageReport {
        let session = |n| SessionId::new(Uuid::from_u128(n));
        let mut totals = UsageTotals::new(by);
        totals.add(session(1), "one", &spending("a", "main", 10, Some(100)));
        totals.add(session(1), "one", &spending("b", "main", 20, None));
        totals.add(session(2), "two", &spending("a", "help", 40, Some(400)));
        totals.into_report(Vec::new())
    }

    #[test]
    fn lines_add_up_to_the_total_for_every_grouping() {
        for by in [UsageGrouping::Session, UsageGrouping::Model, UsageGrouping::Agent, UsageGrouping::Task] {
            let UsageReport { lines, total, .. } = report_by(by);
            assert_eq!(lines.len(), 2, "{by:?}");
            let spent = lines.iter().fold(Cost::ZERO, |sum, line| sum.plus(line.sum.spent));
            let usage = lines.iter().fold(Usage::default(), |sum, line| sum.plus(line.sum.usage));
            assert_eq!((spent, usage), (total.spent, total.usage), "{by:?}");
            assert_eq!(total.usage.total() + total.unanswered.tokens, total.spent.tokens, "{by:?}");
            assert_eq!((total.turns, total.priced), (3, false));
        }
    }

    #[test]
    fn a_sum_is_priced_only_if_all_its_turns_are() {
        let report = report_by(UsageGrouping::Model);
        let lines: Vec<_> =
            report.lines.iter().map(|line| (line.name.as_str(), line.sum.spent.micros, line.sum.priced)).collect();
        assert_eq!(lines, [("a", 502, true), ("b", 0, false)]);
        assert_eq!((report.total.spent.micros, report.total.priced), (502, false));
    }
}
