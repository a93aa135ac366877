//! The project that a folder belongs to.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use crate::file::SettingsFile;
use crate::read::ConfigError;
use crate::values::flatten;

/// The project's settings file, relative to its top.
pub(crate) const CONFIG: &str = ".bosun/config.toml";

/// The project that a folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its top folder: the one that contains `.git`, or the folder itself.
    pub dir: PathBuf,
    /// A repository further up that belongs to another user, and so is not the project.
    pub foreign_repository: Option<PathBuf>,
}

impl Project {
    /// Finds the project of a folder, given as a path without links. Does not search above a folder of another user,
    /// who could put anything there.
    pub fn find(folder: &Path) -> Project {
        let is_mine = |folder: &Path| fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == host::user_id());
        let is_top = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let repository = folder.ancestors().find(is_top);
        let foreign_folder =
            repository.and_then(|top| folder.ancestors().take_while(|one| *one != top).find(|one| !is_mine(one)));
        match repository {
            Some(top) if top == folder || (foreign_folder.is_none() && is_mine(top)) => {
                Project { dir: top.to_owned(), foreign_repository: None }
            }
            Some(top) => Project { dir: folder.to_owned(), foreign_repository: Some(top.to_owned()) },
            None => Project { dir: folder.to_owned(), foreign_repository: None },
        }
    }

    /// The settings in its own file, by key.
    pub fn settings(&self) -> Result<Vec<(String, serde_json::Value)>, ConfigError> {
        let file = SettingsFile::read_below(&self.dir, CONFIG)?.unwrap_or_default();
        Ok(flatten(&file))
    }

    /// The project's own settings file.
    pub fn config_file(&self) -> PathBuf {
        self.dir.join(CONFIG)
    }
}

/// The user's own settings file for a project, stored outside it.
pub fn local_file(home: &Path, top: &Path) -> PathBuf {
    const MAX_NAME_CHARS: usize = 40;
    let name = top.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = name.chars().map(plain).take(MAX_NAME_CHARS).collect();
    let digest = HEXLOWER.encode(&Sha256::digest(top.as_os_str().as_bytes()));
    home.join("projects").join(format!("{name}-{}", digest.get(..16).unwrap_or(&digest))).join("config.toml")
}

/// Files that match `.claude/settings*.json`.
pub(crate) fn claude_settings_files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    const MAX_ENTRIES: usize = 10_000;
    let is_one = |name: &str| name.starts_with("settings") && name.ends_with(".json");
    let entries = fs::read_dir(folder.join(".claude")).into_iter().flatten().flatten().take(MAX_ENTRIES);
    entries.filter(move |entry| entry.file_name().to_str().is_some_and(is_one)).map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_the_folder_with_git_or_the_folder_itself() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let deep = top.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(Project::find(&deep).dir, deep);
        fs::write(top.join(".git"), "gitdir: elsewhere").unwrap();
        assert_eq!(Project::find(&deep), Project { dir: top.clone(), foreign_repository: None });
        fs::create_dir(deep.join(".git")).unwrap();
        assert_eq!(Project::find(&deep).dir, deep);
        assert_eq!(Project::find(&top.join("a")).dir, top);
    }

    #[test]
    fn a_repository_of_another_user_is_not_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let deep = top.join("a");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(top.join(".git")).unwrap();
        if std::os::unix::fs::chown(&top, Some(65_534), None).is_err() {
            return;
        }
        assert_eq!(Project::find(&deep), Project { dir: deep, foreign_repository: Some(top) });
    }

    #[test]
    fn local_files_of_projects_with_the_same_name_differ() {
        let file = |top: &str| local_file(Path::new("/home"), Path::new(top)).display().to_string();
        assert!(file("/src/my app").starts_with("/home/projects/my_app-"), "{}", file("/src/my app"));
        assert!(file("/src/my app").ends_with("/config.toml"));
        assert_ne!(file("/src/x"), file("/other/x"));
        assert!(file("/").starts_with("/home/projects/-"));
    }
}
