//! The command that resumes a session.

use host::Home;
use protocol::SessionId;

use crate::{LatestFleet, SessionHandle};

/// The command that resumes a session: its unfinished fleet, or else its conversation. A fleet that ended has no open
/// work, so any work that is left belongs to the conversation.
pub fn resume_command(home: &Home, id: SessionId) -> String {
    match SessionHandle::new(home, id).latest_fleet().ok().flatten() {
        Some(LatestFleet::Unfinished) => format!("bosun fleet resume {id}"),
        Some(LatestFleet::Ended(_)) | None => format!("bosun --resume {id}"),
    }
}
