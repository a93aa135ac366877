//! Parts of the door that show the client more of what happens.

use protocol::Envelope;
use protocol::api::StatusView;
use serde_json::Value;

/// Shows the client more of what happens.
pub(super) trait Onlooker: Send {
    /// The frames of an event, which come before what agents say and do in it.
    fn event(&mut self, envelope: &Envelope) -> Vec<Value>;

    /// The frames of the session's state, which come after all events that it follows from.
    fn status(&mut self, status: &StatusView) -> Vec<Value>;
}
