//! Session ids. Both SDK families use plain UUIDs; Bosun's ids are UUIDs with a prefix.

use protocol::SessionId;
use uuid::Uuid;

/// A session's id as SDK clients write it.
pub fn session_uuid(id: SessionId) -> Uuid {
    id.uuid()
}

/// Parses a session id: a plain UUID, or an id with Bosun's prefix.
pub fn session_id(text: &str) -> Option<SessionId> {
    Uuid::parse_str(text).ok().map(SessionId::new).or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_round_trip() {
        let id = SessionId::new(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001));
        assert_eq!(session_id(&session_uuid(id).to_string()), Some(id));
        assert_eq!(session_id(&id.to_string()), Some(id));
        assert_eq!(session_id("default"), None);
        assert_eq!(session_id(""), None);
    }
}
