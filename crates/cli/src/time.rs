//! Times as people type and read them.

use std::time::Duration;

use protocol::At;

/// Reads `30s`, `10m`, `2h`, `1500ms` or a number of seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_not_one| format!("`{text}` is not a time such as 30s, 10m or 2h"))?;
    let millis = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _other => return Err(format!("`{text}` has an unknown unit; use ms, s, m or h")),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(|| format!("`{text}` is too long"))
}

/// How long ago a moment was, in one short word.
pub(crate) fn ago(then: At, now: At) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _more => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let read = |text: &str| parse(text).map(|time| time.as_millis());
        assert_eq!(
            ["30s", "10m", "2h", "250ms", "7"].map(|text| read(text).unwrap()),
            [30_000, 600_000, 7_200_000, 250, 7_000]
        );
        assert!(read("x").is_err() && read("3d").is_err() && read("99999999999999999999h").is_err());
        assert!(read("18446744073709551615h").unwrap_err().contains("too long"));
    }

    #[test]
    fn ago_is_short() {
        let at = |seconds: u64| ago(At(0), At(seconds * 1000));
        assert_eq!([5, 61, 7_200, 200_000].map(at), ["5s", "1m", "2h", "2d"]);
    }
}
