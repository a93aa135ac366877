//! Checks that the project's files that a hook runs are unchanged since they were trusted.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use protocol::HookProgram;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Maximum size of a file that is hashed, in bytes; a larger one is identified by its metadata.
const MAX_HASHED_BYTES: u64 = 4 << 20;

/// A digest of a file. Of a `package.json` only the scripts count: the rest changes with every dependency.
pub fn program_digest(path: &Path) -> String {
    match host::read_plain(path, MAX_HASHED_BYTES) {
        Ok(None) => "absent".into(),
        Ok(Some(bytes)) if path.ends_with("package.json") => hex_digest(&scripts(&bytes).unwrap_or(bytes)),
        Ok(Some(bytes)) => hex_digest(&bytes),
        Err(_large) => path.metadata().map_or_else(
            |_unreadable| "unreadable".into(),
            |metadata| format!("{}:{}:{}:{}", metadata.ino(), metadata.size(), metadata.ctime(), metadata.ctime_nsec()),
        ),
    }
}

fn scripts(bytes: &[u8]) -> Option<Vec<u8>> {
    let package: Value = serde_json::from_slice(bytes).ok()?;
    Some(package.get("scripts").map(Value::to_string).unwrap_or_default().into_bytes())
}

fn hex_digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The first of these files that has changed since the hook was trusted, for a hook that runs in this folder.
pub(crate) fn first_changed(programs: &[HookProgram], folder: &Path) -> Option<PathBuf> {
    let paths = programs.iter().map(|program| (folder.join(&program.path), &program.digest));
    paths.filter(|(path, digest)| program_digest(path) != **digest).map(|(path, _)| path).next()
}
