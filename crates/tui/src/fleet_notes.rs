//! How to resume what is left of a session.

use client::{LatestFleet, SessionHandle};
use host::Home;
use protocol::{FleetEnd, SessionId};

/// A note for the user who resumes a session whose latest fleet is unfinished or was stopped.
pub fn unfinished_fleet_note(home: &Home, id: SessionId) -> Option<String> {
    let adjective = match read_latest_fleet(home, id)? {
        LatestFleet::Unfinished => "an unfinished",
        LatestFleet::Ended(FleetEnd::Stopped) => "a stopped",
        LatestFleet::Ended(FleetEnd::Done | FleetEnd::Blocked) => return None,
    };
    Some(format!("this session has {adjective} fleet; resume it with: bosun fleet resume {id}"))
}

/// The command that resumes a session: its unfinished fleet, or else its conversation. A fleet that ended has no open
/// work, so any work that is left belongs to the conversation.
pub fn resume_command(home: &Home, id: SessionId) -> String {
    match read_latest_fleet(home, id) {
        Some(LatestFleet::Unfinished) => format!("bosun fleet resume {id}"),
        Some(LatestFleet::Ended(_)) | None => format!("bosun --resume {id}"),
    }
}

fn read_latest_fleet(home: &Home, id: SessionId) -> Option<LatestFleet> {
    SessionHandle::new(home, id).latest_fleet().ok().flatten()
}
