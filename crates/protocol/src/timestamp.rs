//! Timestamps.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A time in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time that is `after` later.
    pub fn plus(self, after: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The time that is `before` earlier, not before the epoch.
    pub fn minus(self, before: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(u64::try_from(before.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The duration from `earlier` to this time; zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// The time from `then` to `now` in a short form, such as `5m`.
pub fn format_age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _more => format!("{}d", seconds / 86_400),
    }
}

impl fmt::Display for Timestamp {
    /// Prints the time in UTC as `2026-11-15T03:26:00.123Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, millis) = (self.0 / 86_400_000, self.0 % 86_400_000);
        let (year, month, day) = civil_date(days);
        let (hour, minute, second) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", millis % 1000)
    }
}

/// The civil date of a day counted from 1970-01-01, by the 400-year cycle that starts on March 1.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_utc() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(951_782_400_000).to_string(), "2000-02-29T00:00:00.000Z");
        assert_eq!(Timestamp(1_794_713_160_123).to_string(), "2026-11-15T03:26:00.123Z");
    }

    #[test]
    fn ages_are_short() {
        let at = |seconds: u64| format_age(Timestamp(0), Timestamp(seconds * 1000));
        assert_eq!([5, 61, 7_200, 200_000].map(at), ["5s", "1m", "2h", "2d"]);
    }
}
