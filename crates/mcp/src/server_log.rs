//! The error output of a server, kept in a file for the user.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The largest log, in bytes; a longer one starts again.
const MAX_LOG_BYTES: u64 = 1 << 20;

/// The log of one server.
#[derive(Debug, Default)]
pub struct ServerLog {
    path: Option<PathBuf>,
    file: Option<File>,
    written: u64,
}

impl ServerLog {
    /// A log in this file, which is created with the first output.
    pub fn at(path: PathBuf) -> ServerLog {
        ServerLog { path: Some(path), ..ServerLog::default() }
    }

    /// The file of a server in the folder of logs.
    pub fn path(folder: &Path, server: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        folder.join(format!("{}.log", server.chars().map(plain).collect::<String>()))
    }

    /// Adds output. A log that cannot be written loses it: the server works without.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let Some(path) = &self.path else { return };
        if self.file.is_none() || self.written > MAX_LOG_BYTES {
            match open(path, self.written > MAX_LOG_BYTES) {
                Ok((file, length)) => (self.file, self.written) = (Some(file), length),
                Err(error) => {
                    tracing::debug!(%error, path = %path.display(), "cannot write the log of an MCP server");
                    self.path = None;
                    return;
                }
            }
        }
        if self.file.as_mut().is_some_and(|file| file.write_all(bytes).is_ok()) {
            self.written += bytes.len() as u64;
        }
    }
}

fn open(path: &Path, start_again: bool) -> std::io::Result<(File, u64)> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let start_again = start_again || fs::metadata(path).is_ok_and(|metadata| metadata.len() > MAX_LOG_BYTES);
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    let file = match start_again {
        true => options.write(true).truncate(true).open(path)?,
        false => options.append(true).open(path)?,
    };
    let length = file.metadata()?.len();
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_bounded_and_names_stay_inside_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = ServerLog::path(folder.path(), "../a b");
        assert_eq!(path, folder.path().join(".._a_b.log"));
        let mut log = ServerLog::at(path.clone());
        let chunk = vec![b'x'; 100_000];
        for _ in 0..25 {
            log.append(&chunk);
        }
        let size = fs::metadata(&path).unwrap().len();
        assert!(size > 0 && size <= MAX_LOG_BYTES + 100_000, "{size}");
    }
}
