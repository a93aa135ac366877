//! A length of time as API clients write it.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// The longest time that can be written: about 136 years.
const MAX_SECONDS: u32 = u32::MAX;

/// A length of time, written as a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        if !(0.0..=f64::from(MAX_SECONDS)).contains(&seconds) {
            return Err(de::Error::custom(format!("{seconds} is not a number of seconds from 0 to {MAX_SECONDS}")));
        }
        Duration::try_from_secs_f64(seconds).map(Seconds).map_err(de::Error::custom)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.subsec_nanos() {
            0 => to.serialize_u64(self.0.as_secs()),
            _fraction => to.serialize_f64(self.0.as_secs_f64()),
        }
    }
}

impl JsonSchema for Seconds {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": MAX_SECONDS, "description": "A number of seconds." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_of_seconds() {
        let read = |text: &str| serde_json::from_str::<Seconds>(text).map(|seconds| seconds.0);
        assert_eq!(read("30").unwrap(), Duration::from_secs(30));
        assert_eq!(read("0.5").unwrap(), Duration::from_millis(500));
        assert!(read("-1").is_err() && read("1e300").is_err() && read("\"30s\"").is_err());
        let written = |time| serde_json::to_string(&Seconds(time)).unwrap();
        assert_eq!(written(Duration::from_secs(30)), "30");
        assert_eq!(written(Duration::from_millis(500)), "0.5");
    }
}
