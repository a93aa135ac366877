//! Opens an instruction file, as far as its owner is trusted.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use host::PlainError;

use super::InstructionPlaces;
use super::read::{InstructionOwner, MAX_FILE_BYTES};

/// Maximum bytes of a user file.
const MAX_USER_BYTES: u64 = 1 << 20;

/// Folders that may hold instructions although their names begin with a dot.
const VISIBLE_DOT_FOLDERS: [&str; 3] = [".claude", ".github", ".agents"];

/// The extensions of files that a link in a project may lead to.
const TEXT_EXTENSIONS: [&str; 5] = ["md", "markdown", "mdc", "mdx", "txt"];

/// The result of opening a file.
pub(super) enum InstructionRead {
    Absent,
    /// Its beginning: one byte more than the limit, so that the reader notices a longer file.
    Bytes(Vec<u8>),
    /// It is a link to a file outside the project.
    Outside,
    /// It is a link to a file that must not be read because of a rule or its name.
    Hidden,
    Failed(PlainError),
}

pub(super) fn open(places: &InstructionPlaces<'_>, path: &Path, owner: InstructionOwner) -> InstructionRead {
    let read = match (owner, path.strip_prefix(project_top(places))) {
        (InstructionOwner::User, _) => host::read_plain(path, MAX_USER_BYTES),
        (InstructionOwner::Project, Err(_elsewhere)) => return InstructionRead::Outside,
        (InstructionOwner::Project, Ok(below)) => {
            match host::read_owned_below(project_top(places), below, MAX_FILE_BYTES as u64 + 1) {
                Err(PlainError::Link) => return read_link(places, path),
                read => read,
            }
        }
    };
    from_read(read)
}

/// Reads a link inside the project, such as `CLAUDE.md` to `AGENTS.md`. It is resolved first and then opened without
/// following links, so that its target cannot change in between.
fn read_link(places: &InstructionPlaces<'_>, path: &Path) -> InstructionRead {
    let top = project_top(places);
    let Ok(real) = path.canonicalize() else { return InstructionRead::Outside };
    let Ok(below) = real.strip_prefix(top) else { return InstructionRead::Outside };
    let is_text = real.extension().and_then(OsStr::to_str).is_some_and(|end| TEXT_EXTENSIONS.contains(&end));
    if !is_text || !is_readable(places, &real) {
        return InstructionRead::Hidden;
    }
    from_read(host::read_owned_below(top, below, MAX_FILE_BYTES as u64 + 1))
}

fn from_read(read: Result<Option<Vec<u8>>, PlainError>) -> InstructionRead {
    match read {
        Ok(None) => InstructionRead::Absent,
        Ok(Some(bytes)) => InstructionRead::Bytes(bytes),
        Err(error) => InstructionRead::Failed(error),
    }
}

/// Whether a project file may be read because another file imports it: rules must permit it, and no part of its path
/// may be hidden, such as `.env`.
pub(super) fn is_readable(places: &InstructionPlaces<'_>, path: &Path) -> bool {
    let below = path.strip_prefix(project_top(places)).unwrap_or(path);
    let hidden = |part: Component<'_>| match part.as_os_str().to_str() {
        Some(name) => name.starts_with('.') && !VISIBLE_DOT_FOLDERS.contains(&name),
        None => true,
    };
    !below.components().any(hidden) && (places.may_read)(path)
}

/// The folder below which a project's files are opened.
pub(super) fn project_top<'a>(places: &InstructionPlaces<'a>) -> &'a Path {
    let contains_cwd = places.project_dir.is_absolute() && places.cwd.starts_with(places.project_dir);
    if contains_cwd { places.project_dir } else { places.cwd }
}

/// A path with its `.` and `..` resolved by name alone.
pub(super) fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => normal.push(part),
        }
    }
    normal
}
