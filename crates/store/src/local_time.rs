//! Timestamps in the machine's time zone.

use protocol::Timestamp;
use rusqlite::Connection;

/// Formats a timestamp in local time, such as `2026-11-16 09:05`; none if the machine does not know its time zone.
/// Uses SQLite, which asks the C library, since the Rust standard library knows no time zones.
pub fn local_time(at: Timestamp) -> Option<String> {
    const FORMAT: &str = "SELECT strftime('%Y-%m-%d %H:%M', ?1, 'unixepoch', 'localtime')";
    let seconds = i64::try_from(at.0 / 1000).ok()?;
    let conn = Connection::open_in_memory().ok()?;
    conn.query_row(FORMAT, [seconds], |row| row.get(0)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_shown_in_local_time_to_the_minute() {
        let text = local_time(Timestamp(1_700_000_000_000)).unwrap();
        assert!(["2023-11-13", "2023-11-14", "2023-11-15"].contains(&&text[..10]), "{text}");
        assert_eq!((text.len(), &text[13..14]), (16, ":"));
    }
}
