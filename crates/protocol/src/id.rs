//! Typed ids that print their kind.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdError {
    kind: &'static str,
    text: String,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {} id", self.text, self.kind)
    }
}

impl std::error::Error for IdError {}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Makes an id from a UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($kind, "-{}"), self.0.as_simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($kind, "-"))
                    .and_then(|hex| Uuid::try_parse(hex).ok())
                    .map(Self)
                    .ok_or_else(|| IdError { kind: $kind, text: text.into() })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": concat!("^", $kind, "-[0-9a-f]{32}$") })
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// A root conversation with its whole tree of tasks.
    SessionId,
    "ses"
);
id!(
    /// A task in a session.
    TaskId,
    "task"
);

macro_rules! ordinal {
    ($(#[$doc:meta])* $name:ident($inner:ty), $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($kind, "{}"), self.0)
            }
        }
    };
}

ordinal!(
    /// A piece of mail, numbered within its session.
    MailId(u64),
    "mail-"
);
ordinal!(
    /// A turn, numbered from 1 within its task.
    Turn(u32),
    "turn "
);
ordinal!(
    /// The number of a session's current owner; a write with an older number is refused.
    Fence(u64),
    "fence "
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_prints_its_kind_and_round_trips() {
        let id = TaskId::new(Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0001));
        assert_eq!(id.to_string(), "task-01980000000070008000000000000001");
        assert_eq!(id.to_string().parse::<TaskId>(), Ok(id));
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let session = SessionId::new(Uuid::nil()).to_string();
        let error = session.parse::<TaskId>().unwrap_err();
        assert_eq!(error.to_string(), format!("`{session}` is not a task id"));
    }
}
