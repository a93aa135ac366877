//! Amounts of money: dollars with up to six decimals, stored exactly as millionths.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// Millionths of a US dollar, written in files and on the wire as a number of dollars.
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

impl JsonSchema for Usd {
    fn schema_name() -> Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "description": "US dollars, with up to six decimals." })
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
    fn numbers_on_the_wire_are_exact() {
        let read = |text: &str| serde_json::from_str::<Usd>(text).map(|usd| usd.0).map_err(|error| error.to_string());
        let written = ["0.1", "0.075", "12.5", "3", "0.3", "0.005", "1e2", "0"];
        assert_eq!(
            written.map(|number| read(number).unwrap()),
            [100_000, 75_000, 12_500_000, 3_000_000, 300_000, 5_000, 100_000_000, 0]
        );
        assert!(read("-1").is_err() && read("0.0000001").is_err() && read("\"3\"").is_err());
        assert_eq!(serde_json::to_string(&Usd(75_000)).unwrap(), "0.075");
    }
}
