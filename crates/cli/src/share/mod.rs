//! A session as a file for others to read, written at the end of the run.

mod diff;
mod escape;
mod html;
mod inline;
mod markdown;

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use client::{SessionHandle, SessionSnapshot, StoreError};
use host::Home;
use protocol::SessionId;
use tempfile::NamedTempFile;
use tui::print;

use crate::args::ExportFormat;
use crate::error::CliError;
use crate::sessions::read_log;

/// The permissions of the file before the user's umask applies.
const FILE_MODE: u32 = 0o666;

/// A reserved path for the file. It is known to be writable: a draft already exists under a temporary name.
#[derive(Debug)]
pub(crate) struct ShareFile {
    path: PathBuf,
    format: ExportFormat,
    draft: NamedTempFile,
}

impl ShareFile {
    /// Creates the draft, or returns why it cannot be created.
    pub(crate) fn create(path: &Path) -> Result<ShareFile, CliError> {
        let hint = "name a file that ends with .md or .html, such as --share run.html";
        let shown = path.display();
        let format = match path.extension().and_then(|ending| ending.to_str()) {
            Some("md") => ExportFormat::Markdown,
            Some("html") => ExportFormat::Html,
            Some(_) | None => return Err(CliError::usage(format!("cannot share as {shown}")).with_hint(hint)),
        };
        if path.is_dir() {
            return Err(CliError::usage(format!("cannot share as {shown}: it is a folder")).with_hint(hint));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let draft = tempfile::Builder::new()
            .prefix(".bosun-")
            .permissions(Permissions::from_mode(FILE_MODE))
            .tempfile_in(folder)
            .map_err(|error| {
                CliError::usage(format!("cannot write {shown}: {}", file_error_reason(&error))).with_hint(hint)
            })?;
        Ok(ShareFile { path: path.to_owned(), format, draft })
    }

    /// The paths of the draft and of the final file.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let draft = self.draft.path();
        let folder = draft.parent().and_then(|folder| folder.canonicalize().ok());
        let names = [draft.file_name(), self.path.file_name()];
        folder.map_or_else(Vec::new, |folder| names.into_iter().flatten().map(|name| folder.join(name)).collect())
    }

    /// Writes the session as it is now; the file appears complete or not at all.
    pub(crate) fn write(mut self, home: &Home, id: SessionId) -> Result<(), CliError> {
        let failed = |error: &dyn std::fmt::Display, path: &Path| {
            CliError::failed(format!("cannot write {}: {error}", path.display()))
        };
        let (text, damage) = render_session(home, id, self.format)?;
        self.draft.write_all(text.as_bytes()).map_err(|error| failed(&error, &self.path))?;
        self.draft.as_file().sync_all().map_err(|error| failed(&error, &self.path))?;
        self.draft.persist(&self.path).map_err(|error| failed(&error.error, &self.path))?;
        print::note(format_args!("shared as {}", self.path.display()));
        damage.map_or(Ok(()), Err)
    }
}

/// Why a file could not be created, without its temporary name.
fn file_error_reason(error: &std::io::Error) -> String {
    let whole = error.to_string();
    whole.split_once(" at path ").map_or(whole.as_str(), |(reason, _)| reason).to_owned()
}

/// A session as text, and an error for what could not be read of its log.
pub(crate) fn render_session(
    home: &Home,
    id: SessionId,
    format: ExportFormat,
) -> Result<(String, Option<CliError>), CliError> {
    let (log, mut damage) = read_log(home, id)?;
    let text = match format {
        ExportFormat::Markdown => {
            let warning = damage.as_ref().map(|damage| format!("> {}\n\n", damage.message()));
            print::sanitize(&(warning.unwrap_or_default() + &client::session_markdown(&log)))
        }
        ExportFormat::Json => serde_json::to_string_pretty(&log).map_err(CliError::failed)? + "\n",
        ExportFormat::Html => {
            let views = match SessionHandle::new(home, id).snapshot() {
                Ok(views) => views,
                // The log is all there is.
                Err(StoreError::Corrupt { path, detail }) => {
                    damage.get_or_insert_with(|| {
                        let path = path.display();
                        CliError::failed(format!("{path} is damaged: {detail}; no events are missing"))
                    });
                    SessionSnapshot::after_events(home, id, &log)?
                }
                Err(error) => return Err(error.into()),
            };
            let plan = client::read_plan(home, id).ok().flatten();
            let (session, tasks, todos, plan) = (&views.session, &views.tasks, &views.todos, plan.as_deref());
            let damage = damage.as_ref().map(CliError::message);
            html::render_page(&html::SessionPageData { session, tasks, todos, plan, log: &log, damage })
        }
    };
    Ok((text, damage))
}
