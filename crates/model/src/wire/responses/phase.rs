//! The part of a message that is sent back besides its text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The name of this wire format in opaque blocks.
pub(super) const WIRE: &str = "responses";

/// The phase of a message. It comes before the text, and is not an item of its own.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessagePhase<'a> {
    #[serde(borrow)]
    pub(super) phase: Cow<'a, str>,
}
