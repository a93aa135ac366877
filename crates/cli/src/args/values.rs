//! Values of flags: amounts of money and times.

use std::time::Duration;

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
    fn amounts_must_be_positive() {
        assert!(parse_dollars("0").is_err() && parse_dollars("x").is_err());
        assert_eq!(parse_dollars("0.5"), Ok(500_000));
    }
}
