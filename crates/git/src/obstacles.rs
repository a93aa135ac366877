//! Finds files in a work tree where a commit would put a file. It makes no difference whether git ignores them: they
//! are the user's.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::changes::PathChange;

/// Maximum number of obstacles named.
const MAX_OBSTACLES_NAMED: usize = 20;

/// The uncommitted files that would be overwritten or removed.
pub(crate) fn obstacles(top: &Path, changes: &[PathChange]) -> Vec<PathBuf> {
    let removed: HashSet<&Path> = changes
        .iter()
        .filter(|change| change.old.is_some() && (change.new.is_none() || changes_kind(change)))
        .map(|change| change.path.as_path())
        .collect();
    let mut blocking = Vec::new();
    for change in changes {
        let is_added = change.new.is_some() && (change.old.is_none() || changes_kind(change));
        if is_added {
            blocking.extend(find_obstacle(top, change, &removed));
        }
        if blocking.len() >= MAX_OBSTACLES_NAMED {
            break;
        }
    }
    blocking.sort();
    blocking.dedup();
    blocking.truncate(MAX_OBSTACLES_NAMED);
    blocking
}

/// Whether a file becomes a submodule, or the other way round.
fn changes_kind(change: &PathChange) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.is_submodule() != new.is_submodule(),
        _ => false,
    }
}

fn find_obstacle(top: &Path, change: &PathChange, removed: &HashSet<&Path>) -> Option<PathBuf> {
    let mut parents: Vec<&Path> = change.path.ancestors().skip(1).filter(|path| *path != Path::new("")).collect();
    parents.reverse();
    for parent in parents {
        match fs::symlink_metadata(top.join(parent)) {
            // An unreadable folder fails later, when something is put there.
            Err(_absent) => return None,
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) if removed.contains(parent) => return None,
            Ok(_) => return Some(parent.to_owned()),
        }
    }
    match fs::symlink_metadata(top.join(&change.path)) {
        Err(_absent) => None,
        Ok(_) if removed.contains(change.path.as_path()) && !is_folder(&top.join(&change.path)) => None,
        Ok(metadata) if metadata.is_dir() => match change.new.as_ref().is_some_and(|new| new.is_submodule()) {
            true => None,
            false => first_kept(top, &change.path, removed),
        },
        Ok(_) => Some(change.path.clone()),
    }
}

/// The first entry in a folder that is not removed anyway.
fn first_kept(top: &Path, folder: &Path, removed: &HashSet<&Path>) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(top.join(&folder)) else { return Some(folder) };
        for entry in entries {
            let Ok(entry) = entry else { return Some(folder) };
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if removed.contains(path.as_path()) => {}
                Ok(_) | Err(_) => return Some(path),
            }
        }
    }
    None
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}
