//! Files of the workspace as tools use them: what the call may not open is refused at the moment of opening, a failure
//! becomes a refusal that names the file and the remedy, a read or a write leaves its stamp, and nothing here runs on
//! the runtime's own threads.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{CheckedPath, ExpectedContent, FileBytes, FileError, FileStamp, OpenFolder};
use protocol::Evidence;

use crate::refusal::{missing, refusal};
use crate::{FileAccess, ToolContext, ToolError, ToolOutput};

/// Runs work with files on a thread that may block. When the call is dropped, the work's token is cancelled.
pub(crate) async fn blocking<T: Send + 'static>(
    cx: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let cancel = cx.cancel.child_token();
    let _guard = cancel.clone().drop_guard();
    let cx = ToolContext { cancel, ..cx.clone() };
    tokio::task::spawn_blocking(move || work(&cx)).await.map_err(ToolError::broken)?
}

/// How much text a tool collects before it stops: the output's limit, less one more line and a note.
pub(crate) fn text_budget(cx: &ToolContext) -> usize {
    cx.limits.output.saturating_sub(cx.limits.line + 512)
}

/// The path as a model writes it: relative to the working folder when it is below it.
pub(crate) fn display_path(cx: &ToolContext, path: &Path) -> String {
    let below = path.strip_prefix(cx.workspace.cwd()).unwrap_or(path);
    if below.as_os_str().is_empty() { ".".to_owned() } else { one_line(&below.display().to_string()) }
}

/// The name with its control characters escaped: one that holds a line end must not pass for two.
pub(crate) fn one_line(name: &str) -> String {
    name.chars().fold(String::with_capacity(name.len()), |mut line, letter| {
        if letter.is_control() {
            line.extend(letter.escape_default())
        } else {
            line.push(letter)
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

/// A place that the call may use. There is no other way to a file, and every use asks again.
#[derive(Debug)]
pub(crate) struct PermittedPath {
    place: CheckedPath,
    access: FileAccess,
}

impl PermittedPath {
    /// The place, if the call may use it.
    fn of(cx: &ToolContext, place: CheckedPath, how: FileAccess) -> Result<PermittedPath, ToolError> {
        let granted = PermittedPath { place, access: how };
        granted.recheck(cx)?;
        Ok(granted)
    }

    /// The absolute path, without links in it.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Whether anything is there.
    pub(crate) fn exists(&self) -> bool {
        self.place.exists()
    }

    /// The place, if the call may still use it. Using it follows no links, so the path that is asked about is the one
    /// that is opened.
    fn recheck(&self, cx: &ToolContext) -> Result<&CheckedPath, ToolError> {
        cx.access_guard.check(self.place.path(), self.access)?;
        Ok(&self.place)
    }
}

/// Finds a path's place in the workspace, if the call may use it.
pub(crate) fn resolve(cx: &ToolContext, path: &str, how: FileAccess) -> Result<PermittedPath, ToolError> {
    let place = cx.workspace.resolve(path).map_err(|error| ToolError::Refused(error.to_string()))?;
    PermittedPath::of(cx, place, how)
}

/// Finds the place of something to be read that must be there.
pub(crate) fn resolve_existing(cx: &ToolContext, path: &str) -> Result<PermittedPath, ToolError> {
    let place = resolve(cx, path, FileAccess::Read)?;
    if place.exists() { Ok(place) } else { Err(missing(cx, place.path())) }
}

/// What became of a file that a walk came across.
pub(crate) enum WalkedFile<T> {
    /// The call may read it.
    Permitted(T),
    /// The call may not.
    LeftOut,
    /// It is not there any more, or something else is.
    Missing,
}

/// Looks at a file that a walk came across. The walk went by names, which may lead elsewhere by now.
pub(crate) fn check_walked(cx: &ToolContext, path: &Path) -> WalkedFile<PermittedPath> {
    match cx.workspace.place(path).filter(|place| place.stamp().is_ok()) {
        Some(place) => {
            PermittedPath::of(cx, place, FileAccess::Read).map_or(WalkedFile::LeftOut, WalkedFile::Permitted)
        }
        None => WalkedFile::Missing,
    }
}

/// Opens a file that a walk came across, to read it in parts. Its path is asked about once, and then the file that is
/// open: a search through many files does little else.
pub(crate) fn open_walked(cx: &ToolContext, path: &Path) -> WalkedFile<io::Result<File>> {
    let Some(place) = cx.workspace.place(path) else { return WalkedFile::Missing };
    if cx.access_guard.check_name(place.path(), FileAccess::Read).is_err() {
        return WalkedFile::LeftOut;
    }
    match place.open() {
        Ok((_, found)) if cx.access_guard.check_opened(place.path(), &found).is_err() => WalkedFile::LeftOut,
        Ok((file, _)) => WalkedFile::Permitted(Ok(file)),
        Err(
            FileError::Missing(_)
            | FileError::Outside(_)
            | FileError::Directory(_)
            | FileError::NoFolder(_)
            | FileError::Special { .. },
        ) => WalkedFile::Missing,
        Err(error) => WalkedFile::Permitted(Err(io::Error::other(error))),
    }
}

/// The line that says how many files a call did not show; nothing if it showed all.
pub(crate) fn left_out_note(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "[1 file left out: it may not be read]\n".to_owned(),
        many => format!("[{many} files left out: they may not be read]\n"),
    }
}

/// What is at a place.
pub(crate) enum OpenedPath {
    /// A file to be read.
    File(FileReader),
    /// A folder.
    Folder,
}

/// A file to be read from its start.
pub(crate) struct FileReader {
    /// Its bytes.
    pub(crate) bytes: Box<dyn BufRead>,
    /// Its state when it was opened.
    pub(crate) stamp: FileStamp,
}

/// Opens what is at a place.
pub(crate) fn open(cx: &ToolContext, granted: &PermittedPath) -> Result<OpenedPath, ToolError> {
    let place = granted.recheck(cx)?;
    match place.read(cx.limits.file) {
        Ok(file) => Ok(OpenedPath::File(FileReader { bytes: Box::new(Cursor::new(file.bytes)), stamp: file.stamp })),
        Err(FileError::TooLarge { .. }) => open_large(cx, place),
        Err(FileError::Directory(_)) => Ok(OpenedPath::Folder),
        Err(error) => Err(refusal(cx, place, error)),
    }
}

/// Opens a file too large to be held.
fn open_large(cx: &ToolContext, place: &CheckedPath) -> Result<OpenedPath, ToolError> {
    let (file, found) = place.open().map_err(|error| refusal(cx, place, error))?;
    Ok(OpenedPath::File(FileReader { bytes: Box::new(BufReader::new(file)), stamp: FileStamp::of(&found) }))
}

/// Opens a folder to list it.
pub(crate) fn list(cx: &ToolContext, granted: &PermittedPath) -> Result<OpenFolder, ToolError> {
    let place = granted.recheck(cx)?;
    place.folder().map_err(|error| refusal(cx, place, error))
}

/// Reads a file that will be changed.
pub(crate) fn read(cx: &ToolContext, granted: &PermittedPath) -> Result<FileBytes, ToolError> {
    let place = granted.recheck(cx)?;
    place.read(cx.limits.file).map_err(|error| refusal(cx, place, error))
}

/// Writes a file, making its folders when it is new. The agent has then seen it as it is.
pub(crate) fn write(
    cx: &ToolContext,
    granted: &PermittedPath,
    bytes: &[u8],
    expect: ExpectedContent,
) -> Result<(), ToolError> {
    let _turn = lock_file(&granted.place);
    let place = granted.recheck(cx)?;
    if matches!(expect, ExpectedContent::New) {
        cx.workspace.create_parents(place).map_err(|error| refusal(cx, place, error))?;
    }
    let stamp = place.write(bytes, expect).map_err(|error| refusal(cx, place, error))?;
    cx.stamps.record(place.path(), stamp);
    Ok(())
}

/// Removes a file that is still as `stamp` says.
pub(crate) fn remove(cx: &ToolContext, granted: &PermittedPath, stamp: FileStamp) -> Result<(), ToolError> {
    let _turn = lock_file(&granted.place);
    let place = granted.recheck(cx)?;
    place.remove(ExpectedContent::Unchanged(stamp)).map_err(|error| refusal(cx, place, error))?;
    cx.stamps.forget(place.path());
    Ok(())
}

/// Writes a new file with a mode, making its folders.
pub(crate) fn write_with_mode(
    cx: &ToolContext,
    granted: &PermittedPath,
    bytes: &[u8],
    mode: u32,
) -> Result<(), ToolError> {
    let _turn = lock_file(&granted.place);
    let place = granted.recheck(cx)?;
    cx.workspace.create_parents(place).map_err(|error| refusal(cx, place, error))?;
    let stamp = place.write_new(bytes, mode).map_err(|error| refusal(cx, place, error))?;
    cx.stamps.record(place.path(), stamp);
    Ok(())
}

/// Agents of one process take turns at a file, so that comparing it and replacing it are one step among them.
fn lock_file(place: &CheckedPath) -> MutexGuard<'static, ()> {
    static TURNS: [Mutex<()>; 32] = [const { Mutex::new(()) }; 32];
    let mut hasher = DefaultHasher::new();
    place.path().hash(&mut hasher);
    let lane = hasher.finish() as usize % TURNS.len();
    TURNS[lane].lock().unwrap_or_else(PoisonError::into_inner)
}
