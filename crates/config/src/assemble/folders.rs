//! The folders of a session.

use std::io;
use std::path::{Path, PathBuf};

use protocol::Refusal;

use super::{SettingsSources, StartNotice};
use crate::layers::SettingsLayers;
use crate::origin::SettingOrigin;

/// The folder to work in, as an absolute path; this process's folder when absent.
pub fn working_folder(path: Option<&Path>) -> Result<PathBuf, Refusal> {
    let folder = path.unwrap_or(Path::new("."));
    real_folder(folder).map_err(|error| {
        let shown = path.unwrap_or(Path::new("the working directory")).display();
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "change its permissions, or choose another folder with -C",
            _other => "choose another folder with -C",
        };
        Refusal::new(format!("cannot work in {shown}: {error}")).with_hint(hint)
    })
}

/// The additional folders of a workspace.
#[derive(Debug, Default)]
pub(super) struct AddedFolders {
    /// Their canonical paths.
    pub(super) paths: Vec<PathBuf>,
    /// Folders of a resumed session that are gone.
    pub(super) notices: Vec<StartNotice>,
}

impl SettingsSources<'_> {
    /// The additional folders of the workspace. A resumed session drops those that are gone.
    pub(super) fn added_folders(&self, layers: &SettingsLayers) -> Result<AddedFolders, Refusal> {
        let mut added = AddedFolders::default();
        for (path, origin) in layers.added_folders(self.env.user_home.as_deref()) {
            match real_folder(&path) {
                Ok(real) if added.paths.contains(&real) => {}
                Ok(real) => added.paths.push(real),
                Err(error) => {
                    let problem = format!("cannot use the folder {} from {origin}: {error}", path.display());
                    if origin != SettingOrigin::Session {
                        return Err(Refusal::new(problem));
                    }
                    added.notices.push(StartNotice::problem(problem));
                }
            }
        }
        Ok(added)
    }
}

/// The canonical path of a folder that can be entered and read.
fn real_folder(folder: &Path) -> io::Result<PathBuf> {
    let real = folder.canonicalize()?;
    if !real.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    // Without the right to enter the folder, every file in it looks unreadable.
    std::fs::read_dir(&real)?;
    real.join(".").symlink_metadata()?;
    Ok(real)
}
