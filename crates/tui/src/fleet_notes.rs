//! How to resume what is left of a session.

pub use client::resume_command;
use client::{LatestFleet, SessionHandle};
use host::Home;
use protocol::{FleetEnd, SessionId};

/// A note for the user who resumes a session whose latest fleet is unfinished or was stopped.
pub fn unfinished_fleet_note(home: &Home, id: SessionId) -> Option<String> {
    let adjective = match SessionHandle::new(home, id).latest_fleet().ok().flatten()? {
        LatestFleet::Unfinished => "an unfinished",
        LatestFleet::Ended(FleetEnd::Stopped) => "a stopped",
        LatestFleet::Ended(FleetEnd::Done | FleetEnd::Blocked) => return None,
    };
    Some(format!("this session has {adjective} fleet; resume it with: bosun fleet resume {id}"))
}
