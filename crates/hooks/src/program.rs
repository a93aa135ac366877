//! The files of a project that a hook runs must be the ones that were trusted, wherever the hook runs and whoever has
//! changed them since.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use protocol::HookProgram;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Most bytes of a file whose content is looked at; a larger one is known by when it was last changed.
const MAX_HASHED_BYTES: u64 = 4 << 20;

/// What a file holds, in short. Of a `package.json` only the scripts count: the rest changes with every dependency.
pub fn program_digest(path: &Path) -> String {
    match host::read_plain(path, MAX_HASHED_BYTES) {
        Ok(None) => "absent".into(),
        Ok(Some(bytes)) if path.ends_with("package.json") => hashed(&scripts(&bytes).unwrap_or(bytes)),
        Ok(Some(bytes)) => hashed(&bytes),
        Err(_large) => path.metadata().map_or_else(
            |_unreadable| "unreadable".into(),
            |facts| format!("{}:{}:{}:{}", facts.ino(), facts.size(), facts.ctime(), facts.ctime_nsec()),
        ),
    }
}

fn scripts(bytes: &[u8]) -> Option<Vec<u8>> {
    let package: Value = serde_json::from_slice(bytes).ok()?;
    Some(package.get("scripts").map(Value::to_string).unwrap_or_default().into_bytes())
}

fn hashed(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first of these that is not as it was when the hook was trusted, for a hook that runs in this folder.
pub(crate) fn first_changed(programs: &[HookProgram], folder: &Path) -> Option<PathBuf> {
    let places = programs.iter().map(|program| (folder.join(&program.path), &program.digest));
    places.filter(|(path, digest)| program_digest(path) != **digest).map(|(path, _)| path).next()
}
