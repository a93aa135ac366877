//! The client's base directory (`COPILOT_HOME`), which separates sessions: a session created under one is visible only
//! to clients with the same one. Clients without one see every session.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use host::Home;
use protocol::SessionId;

/// Maximum bytes of a path.
const MAX_PATH_BYTES: u64 = 4096;

/// The base directory of a server's clients, if they have one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientBaseDir(Option<String>);

impl ClientBaseDir {
    /// Creates it from the environment variable.
    pub(crate) fn from_variable(variable: Option<String>) -> ClientBaseDir {
        ClientBaseDir(variable.filter(|path| !path.is_empty()))
    }

    /// The directory itself.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.0.as_ref().map(PathBuf::from)
    }

    /// Whether a session is visible to its clients.
    pub(crate) fn can_see(&self, home: &Home, id: SessionId) -> bool {
        self.0.as_ref().is_none_or(|base| recorded_base(home, id).as_ref() == Some(base))
    }

    /// Records the base directory of a new session.
    pub(crate) fn record(&self, home: &Home, id: SessionId) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |base| fs::write(base_file(home, id), base))
    }
}

fn recorded_base(home: &Home, id: SessionId) -> Option<String> {
    let mut text = String::new();
    File::open(base_file(home, id)).ok()?.take(MAX_PATH_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn base_file(home: &Home, id: SessionId) -> PathBuf {
    home.session_dir(id).join("client-base")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_visible_under_their_base_directory() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let id: SessionId = "ses-01900000-0000-7000-8000-000000000001".parse().unwrap();
        fs::create_dir_all(home.session_dir(id)).unwrap();
        let base = |path: &str| ClientBaseDir::from_variable(Some(path.to_owned()));
        assert!(base("").can_see(&home, id) && ClientBaseDir::default().can_see(&home, id));
        assert!(!base("/a").can_see(&home, id), "a session without a base directory is not visible");
        base("/a").record(&home, id).unwrap();
        assert!(
            base("/a").can_see(&home, id)
                && !base("/b").can_see(&home, id)
                && ClientBaseDir::default().can_see(&home, id)
        );
    }
}
