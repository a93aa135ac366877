//! Values of flags: amounts of money, times and counts.

use std::time::Duration;

/// Parses a whole number from `MIN` to `MAX`.
pub(crate) fn parse_count<const MIN: u32, const MAX: u32>(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (MIN..=MAX).contains(count));
    count.ok_or_else(|| match (MIN, MAX) {
        (1, u32::MAX) => "it must be a whole number above 0".into(),
        (min, max) => format!("it must be a whole number from {min} to {max}"),
    })
}

/// Parses a number of tokens above zero.
pub(crate) fn parse_tokens(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|tokens| *tokens > 0).ok_or_else(|| "it must be a whole number above 0".into())
}

/// Parses a positive amount of dollars into millionths.
pub(crate) fn parse_dollars(text: &str) -> Result<u64, String> {
    match protocol::parse_usd(text)? {
        0 => Err("it must be more than 0".into()),
        micros => Ok(micros),
    }
}

/// Parses a time longer than zero.
pub(crate) fn parse_nonzero(text: &str) -> Result<Duration, String> {
    match config::parse_time(text)? {
        Duration::ZERO => Err("it must be longer than 0".into()),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_must_be_in_range() {
        assert_eq!(parse_count::<1, 4>("4"), Ok(4));
        assert_eq!(parse_count::<0, 4>("5"), Err("it must be a whole number from 0 to 4".into()));
        assert_eq!(parse_count::<1, { u32::MAX }>("-1"), Err("it must be a whole number above 0".into()));
        assert!(parse_tokens("0").is_err());
        assert_eq!(parse_tokens("7"), Ok(7));
    }

    #[test]
    fn amounts_must_be_positive() {
        assert!(parse_dollars("0").is_err() && parse_dollars("x").is_err());
        assert_eq!(parse_dollars("0.5"), Ok(500_000));
    }
}
