//! Prints amounts of money.

use std::fmt;

use serde::{Serialize, Serializer};

/// Millionths of a US dollar; unknown when a price is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Money {
    /// This many millionths.
    Known(u64),
    /// Some of the usage has no price.
    Unknown,
}

impl Money {
    /// An amount, known only if all usage has a price.
    pub fn new(micros: u64, priced: bool) -> Money {
        if priced { Money::Known(micros) } else { Money::Unknown }
    }

    /// The millionths, if known.
    pub fn micros(self) -> Option<u64> {
        match self {
            Money::Known(micros) => Some(micros),
            Money::Unknown => None,
        }
    }
}

impl fmt::Display for Money {
    /// Prints all significant digits, and at least cents: `$0.0123`, `$5.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Money::Unknown => f.pad("unknown"),
            Money::Known(micros) => {
                let decimals = format!("{:06}", micros % 1_000_000);
                let cents = decimals.trim_end_matches('0').len().max(2);
                f.pad(&format!("${}.{}", micros / 1_000_000, &decimals[..cents]))
            }
        }
    }
}

impl Serialize for Money {
    /// Serialises dollars as a number, or null if unknown.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Money::Unknown => serializer.serialize_none(),
            #[expect(clippy::cast_precision_loss, reason = "exact up to billions of dollars")]
            Money::Known(micros) => serializer.serialize_f64(*micros as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_to_the_millionth() {
        let shown = |micros| Money::Known(micros).to_string();
        assert_eq!(
            [0, 1, 12_300, 5_000_000, 1_250_000].map(shown),
            ["$0.00", "$0.000001", "$0.0123", "$5.00", "$1.25"]
        );
        assert_eq!(Money::new(7, false).to_string(), "unknown");
        let json = |money| serde_json::to_string(&money).unwrap();
        assert_eq!((json(Money::Known(12_345)), json(Money::Unknown)), ("0.012345".into(), "null".into()));
    }
}
