//! Opens an instruction file as whoever it belongs to permits.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use host::PlainError;

use super::InstructionPlaces;
use super::read::{InstructionOwner, MAX_FILE_BYTES};

/// Most bytes of a file of the user's own.
const MAX_USER_BYTES: u64 = 1 << 20;

/// Folders whose names begin with a dot and that hold instructions all the same.
const VISIBLE_DOT_FOLDERS: [&str; 3] = [".claude", ".github", ".agents"];

/// What a link in a project may lead to.
const TEXT_EXTENSIONS: [&str; 5] = ["md", "markdown", "mdc", "mdx", "txt"];

/// What came of opening a file.
pub(super) enum InstructionRead {
    Absent,
    /// Its beginning: one byte more than is taken, so that the reader can tell.
    Bytes(Vec<u8>),
    /// It is a link that leads out of the project.
    Outside,
    /// It is a link to what rules or its name keep from being read.
    Hidden,
    Failed(PlainError),
}

pub(super) fn open(places: &InstructionPlaces<'_>, path: &Path, whose: InstructionOwner) -> InstructionRead {
    let read = match (whose, path.strip_prefix(project_top(places))) {
        (InstructionOwner::User, _) => host::read_plain(path, MAX_USER_BYTES),
        (InstructionOwner::Project, Err(_elsewhere)) => return InstructionRead::Outside,
        (InstructionOwner::Project, Ok(below)) => {
            match host::read_owned_below(project_top(places), below, MAX_FILE_BYTES as u64 + 1) {
                Err(PlainError::Link) => return follow(places, path),
                read => read,
            }
        }
    };
    from_read(read)
}

/// A link inside the project, such as `CLAUDE.md` to `AGENTS.md`, is as good as the file. It is looked up first and
/// opened without links then, so that nobody can change where it leads in between.
fn follow(places: &InstructionPlaces<'_>, path: &Path) -> InstructionRead {
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

/// Whether a file of the project may be read because another one names it: rules must permit it, and no part of its name
/// may be hidden, as that of `.env` is.
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
    let is_around = places.top.is_absolute() && places.cwd.starts_with(places.top);
    if is_around { places.top } else { places.cwd }
}

/// A path with its `.` and `..` resolved by name alone.
pub(super) fn normalize_path(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(tidy.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => tidy.push(part),
        }
    }
    tidy
}
