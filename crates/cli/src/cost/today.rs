//! Spending of all sessions today, and its limit.

use protocol::Timestamp;
use protocol::api::TodayUsage;
use serde::Serialize;
use tui::money::Money;
use tui::print;

/// Spending of today, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DailySpending {
    spent_usd: Money,
    /// `budget.day-usd`; null without a limit.
    limit_usd: Option<Money>,
    /// When the next day begins.
    ends_at: Timestamp,
}

impl From<TodayUsage> for DailySpending {
    fn from(TodayUsage { spent_micros, limit_micros, ends_at }: TodayUsage) -> DailySpending {
        DailySpending { spent_usd: Money::Known(spent_micros), limit_usd: limit_micros.map(Money::Known), ends_at }
    }
}

impl DailySpending {
    /// Prints how much of the limit is used, if there is one.
    pub(super) fn show(self) {
        let DailySpending { spent_usd, limit_usd, ends_at } = self;
        if let Some(limit) = limit_usd {
            print::note(format_args!("today: {spent_usd} of {limit}; the next day begins at {ends_at}"));
        }
    }
}
