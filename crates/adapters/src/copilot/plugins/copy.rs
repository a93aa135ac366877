//! Copies the folder of a plugin.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::PluginError;

/// Maximum files of a plugin.
const MAX_FILES: usize = 10_000;

/// Maximum bytes of a plugin.
const MAX_BYTES: u64 = 64 << 20;

/// Copies the files of a folder, without its version control and without links, in place of an earlier copy.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<(), PluginError> {
    let failed = |source: io::Error| PluginError::Copy { folder: from.to_owned(), source };
    // No plugin has a name that begins with a dot.
    let draft = to.with_file_name(format!(".{}", to.file_name().unwrap_or_default().display()));
    remove_folder(&draft).map_err(failed)?;
    let copied = copy_files(from, &draft);
    if copied.is_err() {
        // The error of the copy counts.
        remove_folder(&draft).ok();
    }
    copied?;
    remove_folder(to).and_then(|()| fs::rename(&draft, to)).map_err(failed)
}

/// Removes a folder, if there is one.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<(), PluginError> {
    let failed = |source: io::Error| PluginError::Copy { folder: from.to_owned(), source };
    let (mut folders, mut files, mut bytes) = (vec![(from.to_owned(), to.to_owned())], 0, 0);
    while let Some((from_folder, to_folder)) = folders.pop() {
        DirBuilder::new().recursive(true).mode(0o700).create(&to_folder).map_err(failed)?;
        for entry in fs::read_dir(&from_folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (kind, target) = (entry.file_type().map_err(failed)?, to_folder.join(entry.file_name()));
            if entry.file_name() == ".git" || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() {
                folders.push((entry.path(), target));
            } else if kind.is_file() {
                bytes += fs::copy(entry.path(), &target).map_err(failed)?;
            }
            files += 1;
            if files > MAX_FILES || bytes > MAX_BYTES {
                return Err(PluginError::TooLarge { folder: from.to_owned() });
            }
        }
    }
    Ok(())
}

/// How many skills the files of a folder define.
pub(super) fn count_skills(folder: &Path) -> usize {
    let (mut folders, mut skills) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) if entry.file_name() == "SKILL.md" => skills += 1,
                Ok(_) | Err(_) => {}
            }
        }
    }
    skills
}
