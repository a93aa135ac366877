//! Prints times.

use protocol::Timestamp;

/// A moment in the machine's time zone, with the date only if it is not today.
pub fn format_local(at: Timestamp, now: Timestamp) -> String {
    match (client::local_time(at), client::local_time(now)) {
        (Some(at), Some(now)) => without_same_date(&at, &now).to_owned(),
        (None, _) | (_, None) => at.to_string(),
    }
}

/// The first of two local times, without its date if both have the same.
fn without_same_date<'a>(at: &'a str, now: &str) -> &'a str {
    match (at.split_once(' '), now.split_once(' ')) {
        (Some((day, time)), Some((today, _))) if day == today => time,
        _other => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_is_shown_only_for_other_days() {
        assert_eq!(without_same_date("2026-11-16 09:05", "2026-11-16 23:59"), "09:05");
        assert_eq!(without_same_date("2026-11-15 09:05", "2026-11-16 00:01"), "2026-11-15 09:05");
        let now = Timestamp(1_700_000_000_000);
        assert_eq!(format_local(now, now).len(), "09:05".len());
    }
}
