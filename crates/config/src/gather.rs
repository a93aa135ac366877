//! Finds the layers of settings for a folder, and drops what an untrusted project may not set.

use std::path::Path;

use protocol::SettingsFileScope;

use crate::env::MANAGED;
use crate::file::{PermissionSettings, SettingsFile};
use crate::foreign_settings::{self, ForeignLayer};
use crate::layers::{SettingsLayer, SettingsLayers};
use crate::notice::SettingsNotice;
use crate::origin::SettingOrigin;
use crate::project::{CONFIG, Project, local_file};
use crate::read::ConfigError;
use crate::trust::{TrustStatus, is_home};
use crate::values::flatten;

/// The machine's managed settings file.
pub const MANAGED_FILE: &str = "/etc/bosun/managed.toml";

/// Where layers are searched for.
#[derive(Debug, Clone)]
pub struct SettingsLocations<'a> {
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's home folder.
    pub user_home: Option<&'a Path>,
    /// A file that adds to the machine's managed settings.
    pub managed: Option<&'a Path>,
    /// The project.
    pub project: Project,
    /// Whether the user trusts it.
    pub trust: TrustStatus,
    /// The scopes whose files are read.
    pub scopes: &'a [SettingsFileScope],
}

impl SettingsLayers {
    /// Reads every file that exists.
    pub fn read(places: &SettingsLocations<'_>) -> Result<SettingsLayers, ConfigError> {
        let SettingsLocations { home, user_home: user, managed, project, trust, scopes } = places;
        let mut layers = SettingsLayers {
            layers: Vec::new(),
            project: project.clone(),
            trust: *trust,
            ignored: Vec::new(),
            reads_project_files: scopes.contains(&SettingsFileScope::Project),
            notices: Vec::new(),
        };
        layers.add_managed(*managed)?;
        if let Some(repository) = &project.foreign_repository {
            let text = "this repository belongs to another user, so only this folder is used";
            layers.notices.push(SettingsNotice::warning(repository, text.into()));
        }
        for scope in SettingsFileScope::ALL.into_iter().filter(|scope| scopes.contains(scope)) {
            match scope {
                SettingsFileScope::Local => {
                    let path = local_file(home, &project.dir);
                    layers.add_if_present(SettingsFile::read_if_present(&path)?, SettingOrigin::Local(path))?;
                }
                SettingsFileScope::Project => layers.add_project(home)?,
                SettingsFileScope::User => {
                    let path = home.join("config.toml");
                    layers.add_if_present(SettingsFile::read_if_present(&path)?, SettingOrigin::User(path))?;
                    if let Some(user) = user {
                        layers.add_foreign(foreign_settings::read_user_file(user)?);
                    }
                }
            }
        }
        Ok(layers)
    }

    fn add_managed(&mut self, named: Option<&Path>) -> Result<(), ConfigError> {
        let default = Path::new(MANAGED_FILE);
        self.add_if_present(read_managed(default)?, SettingOrigin::Managed(default.to_owned()))?;
        if let Some(path) = named {
            let missing = || ConfigError::Missing { named_by: MANAGED, path: path.to_owned() };
            let file = SettingsFile::read_if_present(path)?.ok_or_else(missing)?;
            self.add(SettingsLayer { origin: SettingOrigin::Managed(path.to_owned()), file })?;
        }
        Ok(())
    }

    /// Adds the project's files: all settings if the project is trusted, else only those that restrict.
    fn add_project(&mut self, home: &Path) -> Result<(), ConfigError> {
        let top = self.project.dir.clone();
        if !is_home(&top.join(".bosun"), home) {
            let path = top.join(CONFIG);
            let file = SettingsFile::read_below(&top, CONFIG)?;
            let effective = match (file, self.trust) {
                (Some(file), TrustStatus::Changed | TrustStatus::Untrusted) => {
                    Some(self.keep_restrictions(file, &path))
                }
                (file, TrustStatus::Trusted) | (file @ None, _) => file,
            };
            self.add_if_present(effective, SettingOrigin::Project(path))?;
        }
        for below in [".claude/settings.local.json", ".claude/settings.json"] {
            self.add_foreign(foreign_settings::read_project_file(&top, below)?);
        }
        Ok(())
    }

    /// Keeps the settings that an untrusted file may set.
    fn keep_restrictions(&mut self, file: SettingsFile, path: &Path) -> SettingsFile {
        let PermissionSettings { ask, deny, .. } = file.permissions.clone();
        let narrow = SettingsFile {
            permissions: PermissionSettings { ask, deny, ..PermissionSettings::default() },
            ..SettingsFile::default()
        };
        let kept: Vec<String> = flatten(&narrow).into_iter().map(|(key, _)| key).collect();
        self.ignored = flatten(&file).into_iter().map(|(key, _)| key).filter(|key| !kept.contains(key)).collect();
        if !self.ignored.is_empty() {
            let why = match self.trust {
                TrustStatus::Changed => "the project has changed since you trusted it",
                TrustStatus::Untrusted | TrustStatus::Trusted => "you have not trusted the project",
            };
            let keys = list_keys(&self.ignored);
            self.notices
                .push(SettingsNotice::warning(path, format!("ignored, since {why}: {keys}; `bosun trust` shows more")));
        }
        // Keep `managed`, so that it is reported as an error here too.
        SettingsFile { managed: file.managed, ..narrow }
    }

    fn add_if_present(&mut self, file: Option<SettingsFile>, origin: SettingOrigin) -> Result<(), ConfigError> {
        file.map_or(Ok(()), |file| self.add(SettingsLayer { origin, file }))
    }

    fn add_foreign(&mut self, foreign: ForeignLayer) {
        self.notices.extend(foreign.notices);
        foreign.layer.into_iter().for_each(|layer| self.insert(layer));
    }
}

/// Lists the first keys and the number of the others: an untrusted file may have any number of keys of any length.
fn list_keys(keys: &[String]) -> String {
    const MAX_KEYS_SHOWN: usize = 12;
    const MAX_KEY_CHARS: usize = 80;
    let short = |key: &String| key.chars().take(MAX_KEY_CHARS).collect::<String>();
    let first = keys.iter().take(MAX_KEYS_SHOWN).map(short).collect::<Vec<_>>().join(", ");
    match keys.len().checked_sub(MAX_KEYS_SHOWN) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}

/// Reads the machine's managed settings, if any. A broken link is an error: it must not lift the restrictions.
fn read_managed(path: &Path) -> Result<Option<SettingsFile>, ConfigError> {
    let file = SettingsFile::read_if_present(path)?;
    if file.is_none() && path.symlink_metadata().is_ok() {
        return Err(ConfigError::Missing { named_by: "a link in its place", path: path.to_owned() });
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dangling_link_to_managed_settings_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("managed.toml");
        assert_eq!(read_managed(&path).unwrap(), None);
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(read_managed(&path).unwrap_err().to_string().contains("managed.toml"));
    }
}
