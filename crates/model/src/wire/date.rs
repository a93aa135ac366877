//! Parses HTTP dates.

use protocol::Timestamp;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, the form that servers must send.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let (_, rest) = text.trim().split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let is_sane = (1970..=9999).contains(&year) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    let seconds = days_since_epoch(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second;
    (is_sane && words.next() == Some("GMT")).then_some(Timestamp(seconds * 1000))
}

/// The days from 1970-01-01, in years that begin on March 1.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year.checked_sub(u64::from(month <= 2))?.min(10_000);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?.min(31);
    (year * 365 + year / 4 - year / 100 + year / 400 + day_of_year).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_dates_and_nothing_else() {
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Timestamp(784_111_777_000)));
        assert_eq!(parse("Thu, 01 Jan 1970 00:00:00 GMT"), Some(Timestamp(0)));
        assert_eq!(parse("Tue, 29 Feb 2028 23:59:60 GMT").unwrap().to_string(), "2028-03-01T00:00:00.000Z");
        for text in [
            "",
            "7",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 0 08:49:37 GMT",
            "Sun, 06 Nov 18446744073709551615 08:49:37 GMT",
            "Sun, 0 Jan 1970 00:00:00 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
