//! Spending of all sessions today, and its limit.

use client::StoreError;
use host::Home;
use protocol::Timestamp;
use protocol::api::TodayUsage;
use runtime::SpentToday;
use serde::Serialize;
use tui::money::Money;
use tui::print;

/// Spending of today, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DailySpending {
    spent_usd: Money,
    /// `budget.day-usd`; null without a limit.
    limit_usd: Option<Money>,
    /// When the next day begins.
    ends_at: Timestamp,
}

impl DailySpending {
    pub(crate) fn read(home: &Home, limit: Option<u64>, now: Timestamp) -> Result<DailySpending, StoreError> {
        let SpentToday { micros, ends_at } = SpentToday::read(home, now)?;
        Ok(DailySpending { spent_usd: Money::Known(micros), limit_usd: limit.map(Money::Known), ends_at })
    }

    /// What other clients see.
    pub(crate) fn view(self) -> TodayUsage {
        TodayUsage {
            spent_micros: self.spent_usd.micros().unwrap_or_default(),
            limit_micros: self.limit_usd.and_then(Money::micros),
            ends_at: self.ends_at,
        }
    }

    /// Prints how much of the limit is used, if there is one.
    pub(super) fn show(self) {
        let DailySpending { spent_usd, limit_usd, ends_at } = self;
        if let Some(limit) = limit_usd {
            print::note(format_args!("today: {spent_usd} of {limit}; the next day begins at {ends_at}"));
        }
    }
}
