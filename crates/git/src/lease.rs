//! Leases of checkouts: while the process that holds one lives, the checkout is not removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use host::ProcessIdentity;
use serde::{Deserialize, Serialize};

use crate::record::write_atomically;
use crate::{CheckoutId, GitError};

/// Maximum bytes of a lease.
const MAX_LEASE_BYTES: u64 = 4 << 10;

/// A process's claim on a checkout, for all its tasks. Dropping it releases the checkout, and so does the end of the
/// process.
#[derive(Debug)]
#[must_use = "the checkout is released when this is dropped"]
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
    pub fn acquire(root: &Path, id: CheckoutId) -> Result<CheckoutLease, GitError> {
        let path = id.lease_path(root);
        let own = ProcessIdentity::current()
            .map_err(|error| GitError::File { path: path.clone(), said: error.to_string() })?
            .pid;
        if let Some(other) = lease_holder(root, id).filter(|other| *other != own) {
            return Err(GitError::InUse { path: root.join(id.task.to_string()), pid: other });
        }
        claim(&path)?;
        Ok(CheckoutLease { path })
    }
}

/// Writes a claim of this process to a file; it claims what is beside the file.
pub(crate) fn claim(path: &Path) -> Result<(), GitError> {
    let failed = |said: String| GitError::File { path: path.to_owned(), said };
    let ProcessIdentity { boot, pid, start_ticks: started } =
        ProcessIdentity::current().map_err(|error| failed(error.to_string()))?;
    let claim = serde_json::to_vec(&LeaseClaim { boot, pid, started }).map_err(|error| failed(error.to_string()))?;
    write_atomically(path, &claim)
}

impl Drop for CheckoutLease {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.path.display(), %error, "cannot remove a lease; it ends with its process");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// The live process that may work in a checkout. An unreadable claim counts as held; only a missing one is free.
pub(crate) fn lease_holder(root: &Path, id: CheckoutId) -> Option<u32> {
    let path = id.lease_path(root);
    live_claimant(root, Path::new(path.file_name()?))
}

/// The live process that wrote a claim.
pub(crate) fn live_claimant(root: &Path, name: &Path) -> Option<u32> {
    match host::read_below(root, name, MAX_LEASE_BYTES) {
        Ok(None) => None,
        Ok(Some(bytes)) => match serde_json::from_slice::<LeaseClaim>(&bytes) {
            Ok(LeaseClaim { boot, pid, started }) => {
                ProcessIdentity { boot, pid, start_ticks: started }.is_alive().then_some(pid)
            }
            Err(_torn) => Some(0),
        },
        Err(_unreadable) => Some(0),
    }
}
