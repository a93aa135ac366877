//! Amounts of money: dollars with up to six decimals, stored exactly as millionths.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// Millionths of a US dollar, written in a file as a number of dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usd(pub u64);

/// Reads dollars such as `5`, `0.25` or `$1.50` as millionths.
pub fn parse_usd(text: &str) -> Result<u64, String> {
    const DECIMALS: usize = 6;
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let bare = text.strip_prefix('$').unwrap_or(text);
    let (whole, decimals) = bare.split_once('.').unwrap_or((bare, "0"));
    if whole.is_empty() || decimals.is_empty() || !digits(whole) || !digits(decimals) {
        return Err(format!("`{text}` is not an amount of dollars such as 5 or 0.25"));
    }
    if decimals.len() > DECIMALS {
        return Err(format!("`{text}` has more than {DECIMALS} decimals"));
    }
    format!("{whole}{decimals:0<DECIMALS$}").parse().map_err(|_large| format!("`{text}` is too large"))
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UsdVisitor)
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0 as f64 / 1e6)
    }
}

struct UsdVisitor;

impl Visitor<'_> for UsdVisitor {
    type Value = Usd;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of dollars")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Usd, E> {
        parse_usd(&value.to_string()).map(Usd).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Usd, E> {
        parse_usd(&value.to_string()).map(Usd).map_err(E::custom)
    }

    /// A float prints as the shortest text that represents it, which is the text in the file.
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Usd, E> {
        parse_usd(&value.to_string()).map(Usd).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollar_amounts_parse_to_millionths() {
        let read = |text| parse_usd(text).unwrap();
        assert_eq!(["5", "0.25", "$1.50", "0.000001", "007"].map(read), [5_000_000, 250_000, 1_500_000, 1, 7_000_000]);
        for wrong in ["", "$", ".5", "5.", "-1", "1e3", "1,5", "five", "0.0000001", "18446744073710", "NaN", "inf"] {
            assert!(parse_usd(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_in_a_file_are_exact() {
        #[derive(serde::Deserialize)]
        struct File {
            usd: Usd,
        }
        let read = |text: &str| toml::from_str::<File>(text).map(|file| file.usd.0).map_err(|error| error.to_string());
        let written = ["0.1", "0.075", "12.5", "3", "0.3", "0.005", "1e2", "0"];
        assert_eq!(
            written.map(|number| read(&format!("usd = {number}")).unwrap()),
            [100_000, 75_000, 12_500_000, 3_000_000, 300_000, 5_000, 100_000_000, 0]
        );
        assert!(read("usd = -1").is_err() && read("usd = nan").is_err() && read("usd = '3'").is_err());
    }
}
