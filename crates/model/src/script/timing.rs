//! Durations and ranges of numbers, as written in a script.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A duration, such as `50ms`, `2s`, `5m` or `1h`; at most a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = r"^[0-9]+(ms|s|m|h)$"))]
pub(super) struct ScriptDuration(pub(super) Duration);

const MAX_DURATION: Duration = Duration::from_secs(24 * 60 * 60);

impl TryFrom<String> for ScriptDuration {
    type Error = String;

    fn try_from(text: String) -> Result<ScriptDuration, String> {
        let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let millis = match unit {
            "ms" => Some(1),
            "s" => Some(1000),
            "m" => Some(60 * 1000),
            "h" => Some(60 * 60 * 1000),
            _ => None,
        };
        let length = number.parse::<u64>().ok().zip(millis).and_then(|(number, millis)| number.checked_mul(millis));
        let Some(length) = length.map(Duration::from_millis) else {
            return Err(format!("`{text}` is not a duration; write 50ms, 2s, 5m or 1h"));
        };
        if length > MAX_DURATION {
            return Err(format!("`{text}` is longer than 24h; write a shorter time"));
        }
        Ok(ScriptDuration(length))
    }
}

/// A number from 1, or a range of them with both ends included: `3`, `2..4`, `3..`, `..4`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct CountRange(RangeInclusive<u32>);

impl CountRange {
    pub(super) fn single(number: u32) -> CountRange {
        CountRange(number..=number)
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.0.contains(&number)
    }

    fn parse(text: &str) -> Option<CountRange> {
        let end = |text: &str, open: u32| if text.is_empty() { Some(open) } else { text.parse().ok() };
        let range = match text.split_once("..") {
            Some(("", "")) => return None,
            Some((first, last)) => end(first, 1)?..=end(last, u32::MAX)?,
            None => {
                let number = text.parse().ok()?;
                number..=number
            }
        };
        (*range.start() >= 1 && !range.is_empty()).then_some(CountRange(range))
    }
}

impl TryFrom<String> for CountRange {
    type Error = String;

    fn try_from(text: String) -> Result<CountRange, String> {
        let error = || format!("`{text}` is not a number from 1 or a range of them; write 3, 2..4, 3.. or ..4");
        CountRange::parse(&text).ok_or_else(error)
    }
}

impl JsonSchema for CountRange {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number from 1, or a range of them with both ends included: `3`, `2..4`, `3..`, `..4`.",
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": r"^([0-9]+(\.\.[0-9]*)?|\.\.[0-9]+)$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed() {
        let cases = [("50ms", 50), ("2s", 2000), ("5m", 300_000), ("24h", 86_400_000), ("0s", 0)];
        for (text, millis) in cases {
            assert_eq!(
                ScriptDuration::try_from(text.to_owned()),
                Ok(ScriptDuration(Duration::from_millis(millis))),
                "{text}"
            );
        }
        for text in ["", "5", "ms", "-1s", "1.5s", "1 s", "25h", "99999999999999999999s", "18446744073709551615h"] {
            assert!(ScriptDuration::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_parsed() {
        let cases = [("3", 3..=3), ("2..4", 2..=4), ("3..", 3..=u32::MAX), ("..4", 1..=4), ("5..5", 5..=5)];
        for (text, range) in cases {
            assert_eq!(CountRange::parse(text), Some(CountRange(range)), "{text}");
        }
        for text in ["", "..", "0", "0..2", "4..2", "a", "1...3", "1..=3", "-1"] {
            assert_eq!(CountRange::parse(text), None, "{text}");
        }
    }
}
