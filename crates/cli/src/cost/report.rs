//! The sums as JSON, with money in dollars.

use std::collections::BTreeSet;

use protocol::api::{UsageLine, UsageReport, UsageSum};
use protocol::{SessionId, Timestamp, Usage};
use serde::Serialize;
use tui::money::Money;

use super::today::DailySpending;

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

impl<'a> CostReport<'a> {
    pub(super) fn new(usage: &'a UsageReport, since: Option<Timestamp>, today: DailySpending) -> CostReport<'a> {
        let line = |UsageLine { name, session, sum }: &'a UsageLine| CostRow::new(Some(name), *session, sum);
        CostReport {
            by: usage.by.as_str(),
            since_at: since,
            lines: usage.lines.iter().map(line).collect(),
            total: CostRow::new(None, None, &usage.total),
            today,
        }
    }
}

impl<'a> CostRow<'a> {
    fn new(name: Option<&'a str>, session: Option<SessionId>, sum: &'a UsageSum) -> CostRow<'a> {
        CostRow {
            name,
            session,
            turns: sum.turns,
            usage: sum.usage,
            unanswered_tokens: sum.unanswered.tokens,
            tokens: sum.spent.tokens,
            cost_usd: money(sum),
            cost_micros: money(sum).micros(),
            unanswered_micros: sum.unanswered.micros,
            answered: &sum.answered,
        }
    }
}

/// What the sum cost.
pub(super) fn money(sum: &UsageSum) -> Money {
    Money::new(sum.spent.micros, sum.priced)
}
