//! Who works in a checkout: as long as that process lives, nobody removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use host::ProcessIdentity;
use serde::{Deserialize, Serialize};

use crate::record::put;
use crate::{CheckoutId, GitError};

/// Most bytes of a lease.
const MOST: u64 = 4 << 10;

/// A process's claim on a checkout, for all its tasks. Dropping it gives the checkout free, and so does dying.
#[derive(Debug)]
#[must_use = "the checkout is free when this is dropped"]
pub struct CheckoutLease {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct LeaseClaim {
    boot: String,
    pid: u32,
    started: u64,
}

impl CheckoutLease {
    /// Claims a checkout in `root`, the folder of its session, for this process.
    pub fn take(root: &Path, id: CheckoutId) -> Result<CheckoutLease, GitError> {
        let path = id.lease(root);
        let own = ProcessIdentity::current()
            .map_err(|error| GitError::File { path: path.clone(), said: error.to_string() })?
            .pid;
        if let Some(other) = holder(root, id).filter(|other| *other != own) {
            return Err(GitError::InUse { path: root.join(id.task.to_string()), pid: other });
        }
        claim(&path)?;
        Ok(CheckoutLease { path })
    }
}

/// Writes down that this process uses what is beside this file.
pub(crate) fn claim(path: &Path) -> Result<(), GitError> {
    let failed = |said: String| GitError::File { path: path.to_owned(), said };
    let ProcessIdentity { boot, pid, started } =
        ProcessIdentity::current().map_err(|error| failed(error.to_string()))?;
    let claim = serde_json::to_vec(&LeaseClaim { boot, pid, started }).map_err(|error| failed(error.to_string()))?;
    put(path, &claim)
}

impl Drop for CheckoutLease {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.path.display(), %error, "a lease on a checkout stays until its process ends");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// The living process that may work in a checkout. A claim that cannot be read counts as nobody's only if it is gone.
pub(crate) fn holder(root: &Path, id: CheckoutId) -> Option<u32> {
    let path = id.lease(root);
    claimant(root, Path::new(path.file_name()?))
}

/// The living process that wrote a claim.
pub(crate) fn claimant(root: &Path, name: &Path) -> Option<u32> {
    match host::read_below(root, name, MOST) {
        Ok(None) => None,
        Ok(Some(bytes)) => match serde_json::from_slice::<LeaseClaim>(&bytes) {
            Ok(LeaseClaim { boot, pid, started }) => ProcessIdentity { boot, pid, started }.is_alive().then_some(pid),
            Err(_torn) => Some(0),
        },
        Err(_unreadable) => Some(0),
    }
}
