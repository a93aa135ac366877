//! File access for tools: permission is checked at the moment of opening, a failure becomes a refusal that names the
//! file and the remedy, a read or a write records its stamp, and nothing here runs on the runtime's own threads.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{CheckedPath, ExpectedContent, FileBytes, FileError, FileStamp, OpenFolder};
use protocol::Evidence;

use crate::file_changes::{FileChange, FileState, USUAL_MODE, with_state};
use crate::refusal::{missing_refusal, refusal};
use crate::{FileAccess, ToolContext, ToolError, ToolOutput};

/// Runs file operations on a thread that may block. When the call is dropped, the work's token is cancelled.
pub(crate) async fn blocking<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let cancel = cx.cancel.child_token();
    let _guard = cancel.clone().drop_guard();
    let cx = ToolContext { cancel, ..cx.clone() };
    tokio::task::spawn_blocking(move || work(&cx)).await.map_err(ToolError::failed)?
}

/// How much text a tool collects before it stops: the output limit, less one more line and a note.
pub(crate) fn text_budget(cx: &ToolContext) -> usize {
    cx.limits.output_bytes.saturating_sub(cx.limits.line_bytes + 512)
}

/// The path for display: relative to the working folder when below it.
pub(crate) fn display_path(cx: &ToolContext, path: &Path) -> String {
    let below = path.strip_prefix(cx.workspace.cwd()).unwrap_or(path);
    if below.as_os_str().is_empty() { ".".to_owned() } else { escape_control(&below.display().to_string()) }
}

/// The name with control characters escaped: a name with a line break must not look like two.
pub(crate) fn escape_control(name: &str) -> String {
    name.chars().fold(String::with_capacity(name.len()), |mut line, character| {
        if character.is_control() {
            line.extend(character.escape_default())
        } else {
            line.push(character)
        }
        line
    })
}

/// Output of a call that changed these files.
pub(crate) fn changed_output<'a>(
    cx: &ToolContext,
    text: &str,
    paths: impl IntoIterator<Item = &'a Path>,
) -> ToolOutput {
    let evidence = paths.into_iter().map(|path| Evidence::Changed { path: display_path(cx, path) }).collect();
    ToolOutput { evidence, ..ToolOutput::text(text, cx) }
}

/// A path that the call may use. Files are only reached through it, and every use checks again.
#[derive(Debug)]
pub(crate) struct PermittedPath {
    place: CheckedPath,
    access: FileAccess,
}

impl PermittedPath {
    /// The path, if the call may use it.
    fn check(cx: &ToolContext, place: CheckedPath, access: FileAccess) -> Result<PermittedPath, ToolError> {
        let permitted = PermittedPath { place, access };
        permitted.recheck(cx)?;
        Ok(permitted)
    }

    /// The absolute path, without links in it.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Whether it exists.
    pub(crate) fn exists(&self) -> bool {
        self.place.exists()
    }

    /// The path, if the call may still use it. Its use follows no links, so the checked path is the opened one.
    fn recheck(&self, cx: &ToolContext) -> Result<&CheckedPath, ToolError> {
        cx.access_guard.check(self.place.path(), self.access)?;
        Ok(&self.place)
    }
}

/// Resolves a path in the workspace, if the call may use it.
pub(crate) fn resolve(cx: &ToolContext, path: &str, access: FileAccess) -> Result<PermittedPath, ToolError> {
    let place = cx.workspace.resolve(path).map_err(|error| ToolError::Refused(error.to_string()))?;
    PermittedPath::check(cx, place, access)
}

/// Resolves a path to read, which must exist.
pub(crate) fn resolve_existing(cx: &ToolContext, path: &str) -> Result<PermittedPath, ToolError> {
    let place = resolve(cx, path, FileAccess::Read)?;
    if place.exists() { Ok(place) } else { Err(missing_refusal(cx, place.path())) }
}

/// The result of checking a file in a walk.
pub(crate) enum WalkedFile<T> {
    /// The call may read it.
    Permitted(T),
    /// The call may not.
    LeftOut,
    /// It is gone or has been replaced by something else.
    Missing,
}

/// Checks a file found by a walk. The walk used names, which may lead elsewhere by now.
pub(crate) fn check_walked(cx: &ToolContext, path: &Path) -> WalkedFile<PermittedPath> {
    match cx.workspace.checked_path(path).filter(|place| place.stamp().is_ok()) {
        Some(place) => {
            PermittedPath::check(cx, place, FileAccess::Read).map_or(WalkedFile::LeftOut, WalkedFile::Permitted)
        }
        None => WalkedFile::Missing,
    }
}

/// A file found by a walk, open for reading.
pub(crate) struct WalkedReader {
    /// The open file.
    pub(crate) file: File,
    /// Its size when it was opened; 0 for some files of the system that have content all the same.
    pub(crate) size: u64,
}

/// Opens a file found by a walk, to read it in parts. It checks the path once, and then the open file: a search through
/// many files does little else.
pub(crate) fn open_walked(cx: &ToolContext, path: &Path) -> WalkedFile<io::Result<WalkedReader>> {
    let Some(place) = cx.workspace.checked_path(path) else { return WalkedFile::Missing };
    if cx.access_guard.check_name(place.path(), FileAccess::Read).is_err() {
        return WalkedFile::LeftOut;
    }
    match place.open() {
        Ok((_, metadata)) if cx.access_guard.check_opened(place.path(), &metadata).is_err() => WalkedFile::LeftOut,
        Ok((file, metadata)) => WalkedFile::Permitted(Ok(WalkedReader { file, size: metadata.len() })),
        Err(
            FileError::Missing(_)
            | FileError::Replaced(_)
            | FileError::Directory(_)
            | FileError::FolderMissing(_)
            | FileError::Special { .. },
        ) => WalkedFile::Missing,
        Err(error) => WalkedFile::Permitted(Err(io::Error::other(error))),
    }
}

/// The note of how many files a call did not show; empty if it showed all.
pub(crate) fn left_out_note(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "[1 file left out: it may not be read]\n".to_owned(),
        many => format!("[{many} files left out: they may not be read]\n"),
    }
}

/// What a path leads to.
pub(crate) enum OpenedPath {
    /// A file to read.
    File(FileReader),
    /// A folder.
    Folder,
}

/// A file to read from its start.
pub(crate) struct FileReader {
    /// Its bytes.
    pub(crate) bytes: Box<dyn BufRead>,
    /// Its state when it was opened.
    pub(crate) stamp: FileStamp,
}

/// Opens a file, or reports a folder.
pub(crate) fn open(cx: &ToolContext, permitted: &PermittedPath) -> Result<OpenedPath, ToolError> {
    let place = permitted.recheck(cx)?;
    match place.read(cx.limits.file_bytes) {
        Ok(file) => Ok(OpenedPath::File(FileReader { bytes: Box::new(Cursor::new(file.bytes)), stamp: file.stamp })),
        Err(FileError::TooLarge { .. }) => open_large(cx, place),
        Err(FileError::Directory(_)) => Ok(OpenedPath::Folder),
        Err(error) => Err(refusal(cx, place, error)),
    }
}

/// Opens a file that is too large to hold in memory.
fn open_large(cx: &ToolContext, place: &CheckedPath) -> Result<OpenedPath, ToolError> {
    let (file, metadata) = place.open().map_err(|error| refusal(cx, place, error))?;
    Ok(OpenedPath::File(FileReader { bytes: Box::new(BufReader::new(file)), stamp: FileStamp::of(&metadata) }))
}

/// Opens a folder to list it.
pub(crate) fn list(cx: &ToolContext, permitted: &PermittedPath) -> Result<OpenFolder, ToolError> {
    let place = permitted.recheck(cx)?;
    place.open_folder_to_list().map_err(|error| refusal(cx, place, error))
}

/// Reads a file that is to be changed.
pub(crate) fn read(cx: &ToolContext, permitted: &PermittedPath) -> Result<FileBytes, ToolError> {
    let place = permitted.recheck(cx)?;
    place.read(cx.limits.file_bytes).map_err(|error| refusal(cx, place, error))
}

/// Writes a file, creating missing folders when it is new, and records its new state as seen by the agent.
pub(crate) fn write(
    cx: &ToolContext,
    permitted: &PermittedPath,
    bytes: &[u8],
    expect: ExpectedContent,
) -> Result<(), ToolError> {
    let _lock = lock_file(&permitted.place);
    let place = permitted.recheck(cx)?;
    if matches!(expect, ExpectedContent::New) {
        cx.workspace.create_parents(place).map_err(|error| refusal(cx, place, error))?;
    }
    let stamp = recorded(cx, place, NewContent::File { bytes, mode: None }, || place.write(bytes, expect));
    let stamp = stamp.map_err(|error| refusal(cx, place, error))?;
    cx.stamps.record(place.path(), stamp);
    Ok(())
}

/// Removes a file if it still matches `stamp`.
pub(crate) fn remove(cx: &ToolContext, permitted: &PermittedPath, stamp: FileStamp) -> Result<(), ToolError> {
    let _lock = lock_file(&permitted.place);
    let place = permitted.recheck(cx)?;
    let removed = recorded(cx, place, NewContent::Missing, || place.remove(ExpectedContent::Unchanged(stamp)));
    removed.map_err(|error| refusal(cx, place, error))?;
    cx.stamps.forget(place.path());
    Ok(())
}

/// Writes a new file with a mode, creating missing folders.
pub(crate) fn write_with_mode(
    cx: &ToolContext,
    permitted: &PermittedPath,
    bytes: &[u8],
    mode: u32,
) -> Result<(), ToolError> {
    let _lock = lock_file(&permitted.place);
    let place = permitted.recheck(cx)?;
    cx.workspace.create_parents(place).map_err(|error| refusal(cx, place, error))?;
    let stamp = recorded(cx, place, NewContent::File { bytes, mode: Some(mode) }, || place.write_new(bytes, mode));
    let stamp = stamp.map_err(|error| refusal(cx, place, error))?;
    cx.stamps.record(place.path(), stamp);
    Ok(())
}

/// What a change leaves at a path. A file without a mode keeps the one that it had.
enum NewContent<'a> {
    Missing,
    File { bytes: &'a [u8], mode: Option<u32> },
}

/// Makes a change after it was recorded.
fn recorded<T>(
    cx: &ToolContext,
    place: &CheckedPath,
    new: NewContent<'_>,
    change: impl FnOnce() -> Result<T, FileError>,
) -> Result<T, FileError> {
    let Some(recorder) = &cx.file_changes else { return change() };
    with_state(place, cx.limits.file_bytes, |before| {
        let old_mode = match before {
            FileState::File { mode, .. } => mode,
            FileState::Missing | FileState::Unread => USUAL_MODE,
        };
        let after = match new {
            NewContent::Missing => FileState::Missing,
            NewContent::File { bytes, mode } => FileState::File { bytes, mode: mode.unwrap_or(old_mode) },
        };
        recorder.record(&cx.identity, place.path(), FileChange { before, after });
        change()
            .inspect_err(|_| recorder.record(&cx.identity, place.path(), FileChange { before: after, after: before }))
    })
}

/// Locks a file among the agents of this process, so that comparing and replacing it are one step.
pub(crate) fn lock_file(place: &CheckedPath) -> MutexGuard<'static, ()> {
    static LOCKS: [Mutex<()>; 32] = [const { Mutex::new(()) }; 32];
    let mut hasher = DefaultHasher::new();
    place.path().hash(&mut hasher);
    let index = hasher.finish() as usize % LOCKS.len();
    LOCKS[index].lock().unwrap_or_else(PoisonError::into_inner)
}
