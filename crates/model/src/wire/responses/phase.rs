//! What goes back of a message besides its words.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The name of this wire on what it must get back.
pub(super) const WIRE: &str = "responses";

/// What a message was for. It stands before the words, and is not an item of its own.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessagePhase<'a> {
    #[serde(borrow)]
    pub(super) phase: Cow<'a, str>,
}
