//! Writes findings to Bosun's own files.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::finding::{ImportChange, ImportContent, ImportFinding, ImportOutcome};
use crate::edit::{self, KeyPath, SettingsEntry};
use crate::read::ConfigError;

/// Limits of copies: bytes per file, files per folder, nesting depth.
const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 8;

/// Makes the copies, then updates each settings file in one step. The caller must exclude other writers. Returns an
/// error for each file that could not be written; the others are written.
pub fn write(findings: &[ImportFinding]) -> Vec<ConfigError> {
    let changes: Vec<&ImportChange> = findings
        .iter()
        .filter_map(|finding| match &finding.outcome {
            ImportOutcome::Written(change) => Some(change),
            ImportOutcome::AlreadyPresent(_)
            | ImportOutcome::Conflicting { .. }
            | ImportOutcome::InPlace(_)
            | ImportOutcome::NotImported(_)
            | ImportOutcome::Invalid(_) => None,
        })
        .collect();
    let mut entries: BTreeMap<&Path, Vec<(KeyPath, SettingsEntry)>> = BTreeMap::new();
    let mut failed = Vec::new();
    for ImportChange { into, content: what } in &changes {
        let copied = match what {
            ImportContent::Entry(keys, entry) => {
                entries.entry(into).or_default().push((keys.clone(), entry.clone()));
                Ok(())
            }
            ImportContent::File(from) => copy_file(from, into),
            ImportContent::Folder(from) => copy_folder(from, into),
        };
        failed.extend(copied.err().map(|source| ConfigError::Write { path: into.clone(), source }));
    }
    for (path, entries) in entries {
        failed.extend(edit::add_entries(path, &entries).err());
    }
    failed
}

fn copy_file(from: &Path, into: &Path) -> io::Result<()> {
    let bytes = host::read_plain(from, MAX_FILE_BYTES).map_err(io::Error::other)?.ok_or(io::ErrorKind::NotFound)?;
    make_folder(into.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(into)?;
    file.write_all(&bytes)?;
    file.sync_all()
}

/// Copies a folder next to its target, then moves it there in one step. Links are not followed.
fn copy_folder(from: &Path, into: &Path) -> io::Result<()> {
    let parent = into.parent().ok_or(io::ErrorKind::InvalidInput)?;
    make_folder(parent)?;
    let temp_folder = tempfile::Builder::new().prefix(".import-").tempdir_in(parent)?;
    let mut files_left = MAX_FILES;
    copy_contents(from, temp_folder.path(), MAX_DEPTH, &mut files_left)?;
    if into.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(temp_folder.path(), into)?;
    let _moved = temp_folder.keep();
    Ok(())
}

fn copy_contents(from: &Path, into: &Path, levels_left: usize, files_left: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let kind = entry.symlink_metadata()?;
        *files_left =
            files_left.checked_sub(1).ok_or_else(|| io::Error::other(format!("it has more than {MAX_FILES} files")))?;
        if kind.is_dir() && levels_left > 0 {
            make_folder(&into.join(&name))?;
            copy_contents(&entry, &into.join(&name), levels_left - 1, files_left)?;
        } else if kind.is_file() {
            copy_file(&entry, &into.join(&name))?;
            // Keep a skill's scripts executable.
            fs::set_permissions(into.join(&name), kind.permissions())?;
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
