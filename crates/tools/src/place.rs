//! Files of the workspace as tools use them: a failure becomes a refusal that names the file and the remedy, a read
//! or a write leaves its stamp, and nothing here runs on the runtime's own threads.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use host::{Expect, FileBytes, FileError, Place, Stamp};

use crate::text::nearest;
use crate::{Context, Output, ToolError};

/// Runs work with files on a thread that may block. When the call is dropped, the work's token is cancelled.
pub(crate) async fn blocking<T: Send + 'static>(
    cx: &Context,
    work: impl FnOnce(&Context) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let cancel = cx.cancel.child_token();
    let _guard = cancel.clone().drop_guard();
    let cx = Context { cancel, ..cx.clone() };
    tokio::task::spawn_blocking(move || work(&cx)).await.map_err(ToolError::broken)?
}

/// How much text a tool collects before it stops: the output's limit, less one more line and a note.
pub(crate) fn room(cx: &Context) -> usize {
    cx.limits.output.saturating_sub(cx.limits.line + 512)
}

/// The path as a model writes it: relative to the working folder when it is below it.
pub(crate) fn shown(cx: &Context, path: &Path) -> String {
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
pub(crate) fn changed<'a>(cx: &Context, text: &str, paths: impl IntoIterator<Item = &'a Path>) -> Output {
    let changed = paths.into_iter().map(|path| shown(cx, path)).collect();
    Output { changed, ..Output::text(text, cx) }
}

/// Finds a path's place in the workspace.
pub(crate) fn resolve(cx: &Context, path: &str) -> Result<Place, ToolError> {
    cx.workspace.resolve(path).map_err(|error| ToolError::Refused(error.to_string()))
}

/// Finds the place of something that must be there.
pub(crate) fn existing(cx: &Context, path: &str) -> Result<PathBuf, ToolError> {
    let place = resolve(cx, path)?;
    if exists(&place) { Ok(place.path().to_owned()) } else { Err(missing(cx, place.path())) }
}

/// Whether there is anything.
pub(crate) fn exists(place: &Place) -> bool {
    place.path().symlink_metadata().is_ok()
}

/// What is at a place.
pub(crate) enum Opened {
    /// A file to be read.
    File(Reader),
    /// A folder.
    Folder,
}

/// A file to be read from its start.
pub(crate) struct Reader {
    /// Its bytes.
    pub(crate) bytes: Box<dyn BufRead>,
    /// Its state when it was opened.
    pub(crate) stamp: Stamp,
}

/// Opens what is at a place.
pub(crate) fn open(cx: &Context, place: &Place) -> Result<Opened, ToolError> {
    match place.read(cx.limits.file) {
        Ok(file) => Ok(Opened::File(Reader { bytes: Box::new(Cursor::new(file.bytes)), stamp: file.stamp })),
        Err(FileError::TooLarge { .. }) => open_large(cx, place),
        Err(FileError::Directory(_)) => Ok(Opened::Folder),
        Err(error) => Err(refusal(cx, place, error)),
    }
}

/// Opens a file too large to be held.
fn open_large(cx: &Context, place: &Place) -> Result<Opened, ToolError> {
    let (file, stamp) = place.open().map_err(|error| refusal(cx, place, error))?;
    Ok(Opened::File(Reader { bytes: Box::new(BufReader::new(file)), stamp }))
}

/// Reads a file that will be changed.
pub(crate) fn read(cx: &Context, place: &Place) -> Result<FileBytes, ToolError> {
    place.read(cx.limits.file).map_err(|error| refusal(cx, place, error))
}

/// Writes a file, making its folders when it is new. The agent has then seen it as it is.
pub(crate) fn write(cx: &Context, place: &Place, bytes: &[u8], expect: Expect) -> Result<(), ToolError> {
    let _turn = turn(place);
    if matches!(expect, Expect::New) {
        cx.workspace.create_parents(place).map_err(|error| refusal(cx, place, error))?;
    }
    let stamp = place.write(bytes, expect).map_err(|error| refusal(cx, place, error))?;
    cx.stamps.record(place.path(), stamp);
    Ok(())
}

/// Removes a file that is still as `stamp` says.
pub(crate) fn remove(cx: &Context, place: &Place, stamp: Stamp) -> Result<(), ToolError> {
    let _turn = turn(place);
    place.remove(Expect::Unchanged(stamp)).map_err(|error| refusal(cx, place, error))?;
    cx.stamps.forget(place.path());
    Ok(())
}

/// Writes a new file with a mode, making its folders.
pub(crate) fn write_with_mode(cx: &Context, place: &Place, bytes: &[u8], mode: u32) -> Result<(), ToolError> {
    let _turn = turn(place);
    cx.workspace.create_parents(place).map_err(|error| refusal(cx, place, error))?;
    let stamp = place.write_new(bytes, mode).map_err(|error| refusal(cx, place, error))?;
    cx.stamps.record(place.path(), stamp);
    Ok(())
}

/// Agents of one process take turns at a file, so that comparing it and replacing it are one step among them.
fn turn(place: &Place) -> MutexGuard<'static, ()> {
    static TURNS: [Mutex<()>; 32] = [const { Mutex::new(()) }; 32];
    let mut hasher = DefaultHasher::new();
    place.path().hash(&mut hasher);
    let lane = hasher.finish() as usize % TURNS.len();
    TURNS[lane].lock().unwrap_or_else(PoisonError::into_inner)
}

/// The refusal to change a file that is not as the agent saw it.
pub(crate) fn stale(shown: &str) -> ToolError {
    ToolError::Refused(format!("{shown} has changed since you viewed it; view it again before you change it"))
}

fn refusal(cx: &Context, place: &Place, error: FileError) -> ToolError {
    let shown = shown(cx, place.path());
    match error {
        FileError::Missing(_) => missing(cx, place.path()),
        FileError::Changed(_) => stale(&shown),
        FileError::Exists(_) => {
            ToolError::Refused(format!("{shown} exists already; view it before you replace it, or use `edit`"))
        }
        FileError::TooLarge { size, most, .. } => ToolError::Refused(format!(
            "{shown} has {size} bytes, and at most {most} can be changed here; use the shell, for example `sed -i`"
        )),
        FileError::NoFolder(_)
        | FileError::Directory(_)
        | FileError::Special { .. }
        | FileError::Forbidden(_)
        | FileError::Outside(_)
        | FileError::Full(_)
        | FileError::ReadOnly(_)
        | FileError::Io { .. } => ToolError::Refused(error.to_string()),
    }
}

/// The refusal for a path where nothing is, with the names that come closest.
fn missing(cx: &Context, path: &Path) -> ToolError {
    let there = path.ancestors().skip(1).find(|folder| folder.is_dir());
    let close = there.map(|folder| {
        let wanted = path.strip_prefix(folder).ok().and_then(|rest| rest.iter().next()).unwrap_or_default();
        let names = folder.read_dir().into_iter().flatten().flatten().take(10_000);
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        nearest(&wanted.to_string_lossy(), names).iter().map(|name| shown(cx, &folder.join(name))).collect::<Vec<_>>()
    });
    let hint = match close {
        Some(close) if !close.is_empty() => format!("did you mean {}?", close.join(", ")),
        Some(_) | None => "look for it with `glob`".to_owned(),
    };
    ToolError::Refused(format!("{} does not exist; {hint}", shown(cx, path)))
}
