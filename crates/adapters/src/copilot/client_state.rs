//! What the clients of a server have configured for their sessions: plugins, MCP servers and settings. It is stored below
//! the clients' base directory if they have one, otherwise in Bosun's home, and applies to the sessions opened by them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use host::{Home, PlainError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::base_dir::ClientBaseDir;

/// The folder below the base directory, which may be that of another product.
const FOLDER_OF_BASE: &str = "bosun";

/// The folder in Bosun's home of clients without a base directory.
const SHARED_FOLDER: &str = "copilot";

/// Maximum bytes of one of the files.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Why the state cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientStateError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: PlainError,
    },
    /// The file is not in the expected format.
    #[error("{} is not valid: {source}; correct or remove it", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The files with what clients have configured.
#[derive(Debug)]
pub(crate) struct ClientState {
    folder: PathBuf,
    /// Held while a file is changed.
    changing: Mutex<()>,
}

impl ClientState {
    pub(crate) fn new(home: &Home, base_dir: &ClientBaseDir) -> ClientState {
        let below_base = base_dir.folder().map(|base| base.join(FOLDER_OF_BASE));
        let folder = below_base.unwrap_or_else(|| home.root().join(SHARED_FOLDER));
        ClientState { folder, changing: Mutex::default() }
    }

    /// The folder of the files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads a file; the default if there is none.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, ClientStateError> {
        let path = self.folder.join(name);
        let bytes = host::read_plain(&path, MAX_FILE_BYTES)
            .map_err(|source| ClientStateError::Read { path: path.clone(), source })?;
        match bytes {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|source| ClientStateError::Format { path, source }),
            None => Ok(T::default()),
        }
    }

    /// Changes a file: all of it, or nothing if the change fails.
    pub(crate) fn change<T, R, E>(&self, name: &str, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: DeserializeOwned + Serialize + Default,
        E: From<ClientStateError>,
    {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.folder.join(name);
        let written = |source| ClientStateError::Write { path: path.clone(), source };
        let _lock = lock_file(&self.folder).map_err(written)?;
        let mut content: T = self.read(name)?;
        let result = change(&mut content)?;
        let text = serde_json::to_vec_pretty(&content).map_err(|error| written(error.into()))?;
        replace_file(&self.folder, &path, &text).map_err(written)?;
        Ok(result)
    }
}

/// Excludes other processes that change the same files, until the file is dropped.
fn lock_file(folder: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let lock = OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join(".bosun.lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Writes a file that only this user can read; a crash leaves the old or the new content.
fn replace_file(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_change_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let base = ClientBaseDir::from_variable(Some(folder.path().join("base").display().to_string()));
        let state = ClientState::new(&home, &base);
        assert_eq!(state.folder(), folder.path().join("base/bosun"));
        let push = |text: &'static str| {
            move |list: &mut Vec<String>| -> Result<(), ClientStateError> {
                list.push(text.to_owned());
                Ok(())
            }
        };
        state.change("list.json", push("a")).unwrap();
        state.change("list.json", push("b")).unwrap();
        let broken = |path: &Path| ClientStateError::Write { path: path.to_owned(), source: io::Error::other("full") };
        let refused: Result<(), _> = state.change("list.json", |list: &mut Vec<String>| {
            list.clear();
            Err(broken(folder.path()))
        });
        assert!(refused.is_err());
        assert_eq!(state.read::<Vec<String>>("list.json").unwrap(), ["a", "b"]);
        std::fs::write(folder.path().join("base/bosun/list.json"), "no list").unwrap();
        assert!(state.read::<Vec<String>>("list.json").unwrap_err().to_string().contains("list.json is not valid"));
        let shared = ClientState::new(&home, &ClientBaseDir::default());
        assert_eq!(shared.folder(), home.root().join("copilot"));
    }
}
