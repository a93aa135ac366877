//! Durations as written in settings.

use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// A duration in a file, such as `"30s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationSetting(pub Duration);

/// Reads `30s`, `10m`, `2h`, `1500ms` or a number of seconds.
pub fn parse_time(text: &str) -> Result<Duration, String> {
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

impl<'de> Deserialize<'de> for DurationSetting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match parse_time(&String::deserialize(from)?) {
            Ok(Duration::ZERO) => Err(de::Error::custom("the time must be more than 0")),
            Ok(time) => Ok(DurationSetting(time)),
            Err(problem) => Err(de::Error::custom(problem)),
        }
    }
}

impl Serialize for DurationSetting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let millis = self.0.as_millis();
        let written = if millis.is_multiple_of(1_000) { format!("{}s", millis / 1_000) } else { format!("{millis}ms") };
        to.serialize_str(&written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let read = |text: &str| parse_time(text).map(|time| time.as_millis());
        assert_eq!(
            ["30s", "10m", "2h", "250ms", "7"].map(|text| read(text).unwrap()),
            [30_000, 600_000, 7_200_000, 250, 7_000]
        );
        assert!(read("x").is_err() && read("3d").is_err() && read("99999999999999999999h").is_err());
        assert!(read("18446744073709551615h").unwrap_err().contains("too long"));
    }
}
