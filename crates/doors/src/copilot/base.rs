//! The base directory that a client keeps its sessions apart by (`COPILOT_HOME`): a session made under one is known only
//! to clients of the same one. Clients without one know every session.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use host::Home;
use protocol::SessionId;

/// Most bytes of a path.
const LONGEST: u64 = 4096;

/// The base directory of a server's clients, if they have one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Base(Option<String>);

impl Base {
    /// The base directory that the environment names.
    pub(crate) fn named(variable: Option<String>) -> Base {
        Base(variable.filter(|path| !path.is_empty()))
    }

    /// Whether its clients know a session.
    pub(crate) fn has(&self, home: &Home, id: SessionId) -> bool {
        self.0.as_ref().is_none_or(|base| kept(home, id).as_ref() == Some(base))
    }

    /// Keeps under which base directory a session was made.
    pub(crate) fn keep(&self, home: &Home, id: SessionId) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |base| fs::write(place(home, id), base))
    }
}

fn kept(home: &Home, id: SessionId) -> Option<String> {
    let mut text = String::new();
    File::open(place(home, id)).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

fn place(home: &Home, id: SessionId) -> PathBuf {
    home.session_dir(id).join("client-base")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_known_under_the_base_directory_that_it_was_made_under() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let id: SessionId = "ses-01900000-0000-7000-8000-000000000001".parse().unwrap();
        fs::create_dir_all(home.session_dir(id)).unwrap();
        let base = |path: &str| Base::named(Some(path.to_owned()));
        assert!(base("").has(&home, id) && Base::default().has(&home, id));
        assert!(!base("/a").has(&home, id), "a session of no base directory is another's");
        base("/a").keep(&home, id).unwrap();
        assert!(base("/a").has(&home, id) && !base("/b").has(&home, id) && Base::default().has(&home, id));
    }
}
