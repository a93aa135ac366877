//! The plan of a session: a file in its folder that the user can read and edit.

use std::fs::{self, File};
use std::io::{self, Read, Write};

use host::Home;
use protocol::SessionId;
use tempfile::NamedTempFile;

/// Maximum bytes of a plan that are read: the user may have put anything there.
const MAX_PLAN_BYTES: u64 = 256 * 1024;

/// The session's plan, if it has one.
pub fn read(home: &Home, session: SessionId) -> io::Result<Option<String>> {
    let file = match File::open(home.plan_file(session)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_PLAN_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}

/// Replaces the plan atomically.
pub fn write(home: &Home, session: SessionId, text: &str) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(home.session_dir(session))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(home.plan_file(session))?;
    Ok(())
}

/// Removes the plan, if there is one.
pub fn remove(home: &Home, session: SessionId) -> io::Result<()> {
    match fs::remove_file(home.plan_file(session)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _gone => Ok(()),
    }
}

/// Copies the plan to a fork of the session.
pub fn copy(home: &Home, from: SessionId, to: SessionId) -> io::Result<()> {
    read(home, from)?.map_or(Ok(()), |text| write(home, to, &text))
}
