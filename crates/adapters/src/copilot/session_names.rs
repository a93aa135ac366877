//! The clients' names for sessions. Bosun's ids are UUIDs, but clients can choose any name: each name maps to a fixed
//! UUID, and the name is stored next to the session's log, so that every client sees it as it was given.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use host::Home;
use protocol::SessionId;
use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::{session_id, session_uuid};

/// Maximum bytes of a name.
const MAX_NAME_BYTES: usize = 256;

/// A prefix that is hashed with a name, so that no other hash gives the same UUID.
const HASH_PREFIX: &[u8] = b"a session's name\0";

/// Resolves a session from a UUID, an id of Bosun, or a client's name.
pub(crate) fn resolve_session(text: &str) -> Option<SessionId> {
    session_id(text).or_else(|| is_name(text).then(|| session_from_name(text)))
}

/// The session's name for clients.
pub(crate) fn session_name(home: &Home, id: SessionId) -> String {
    saved_name(home, id).unwrap_or_else(|| session_uuid(id).to_string())
}

/// Stores a client's name for a session, unless it is the UUID.
pub(crate) fn save_name(home: &Home, id: SessionId, text: &str) -> io::Result<()> {
    if text == session_uuid(id).to_string() { Ok(()) } else { fs::write(name_file(home, id), text) }
}

fn saved_name(home: &Home, id: SessionId) -> Option<String> {
    let mut text = String::new();
    File::open(name_file(home, id)).ok()?.take(MAX_NAME_BYTES as u64).read_to_string(&mut text).ok()?;
    // Ignore a name that does not map to this session.
    (resolve_session(&text) == Some(id)).then_some(text)
}

fn name_file(home: &Home, id: SessionId) -> PathBuf {
    home.session_dir(id).join("client-name")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.chars().any(char::is_control)
}

fn session_from_name(text: &str) -> SessionId {
    let digest = Sha256::new().chain_update(HASH_PREFIX).chain_update(text).finalize();
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest).for_each(|(byte, digest_byte)| *byte = digest_byte);
    SessionId::new(Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_maps_to_one_session() {
        let id = resolve_session("my-custom-session-id").unwrap();
        assert_eq!(resolve_session("my-custom-session-id"), Some(id));
        assert_ne!(resolve_session("my-custom-session-ie"), Some(id));
        assert_eq!(resolve_session(&session_uuid(id).to_string()), Some(id));
        assert_eq!(resolve_session(&id.to_string()), Some(id));
        assert!(resolve_session("größe/../🌊 1").is_some());
        for invalid in ["", "a\nb", &"x".repeat(MAX_NAME_BYTES + 1)] {
            assert_eq!(resolve_session(invalid), None, "{invalid:?}");
        }
    }

    #[test]
    fn saved_names_are_shown_to_clients() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let id = resolve_session("mine").unwrap();
        fs::create_dir_all(home.session_dir(id)).unwrap();
        assert_eq!(session_name(&home, id), session_uuid(id).to_string());
        save_name(&home, id, "mine").unwrap();
        assert_eq!(session_name(&home, id), "mine");
        fs::write(name_file(&home, id), "another's").unwrap();
        assert_eq!(session_name(&home, id), session_uuid(id).to_string());
    }
}
