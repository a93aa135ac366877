//! Finds the layers of settings for one folder, and takes of each what may count.

use std::path::Path;

use crate::env::MANAGED;
use crate::file::{File, Permissions};
use crate::foreign::{self, Foreign};
use crate::layers::{Layer, Layers};
use crate::notice::Notice;
use crate::origin::Origin;
use crate::project::{CONFIG, Project, local_file};
use crate::read::ConfigError;
use crate::trust::{Standing, is_home};
use crate::values::flat;

/// Where whoever manages the machine puts settings.
pub const MANAGED_FILE: &str = "/etc/bosun/managed.toml";

/// Where layers are looked for.
#[derive(Debug, Clone)]
pub struct Places<'a> {
    /// Bosun's home.
    pub home: &'a Path,
    /// The user's own folder.
    pub user: Option<&'a Path>,
    /// A file that adds to the machine's managed settings.
    pub managed: Option<&'a Path>,
    /// The project.
    pub project: Project,
    /// How it stands.
    pub standing: Standing,
    /// Which files are read.
    pub read: &'a [Choice],
}

/// Files that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Those of the user.
    User,
    /// Those of the project.
    Project,
    /// That of the user for the project.
    Local,
}

impl Choice {
    /// Every one.
    pub const ALL: [Choice; 3] = [Choice::User, Choice::Project, Choice::Local];
}

impl Layers {
    /// Reads every file that is there.
    pub fn read(places: &Places<'_>) -> Result<Layers, ConfigError> {
        let Places { home, user, managed, project, standing, read } = places;
        let mut layers = Layers {
            layers: Vec::new(),
            project: project.clone(),
            standing: *standing,
            ignored: Vec::new(),
            notices: Vec::new(),
        };
        layers.add_managed(*managed)?;
        if let Some(stranger) = &project.stranger {
            let text = "this repository belongs to another user, so nothing of it but this folder is looked at";
            layers.notices.push(Notice::warning(stranger, text.into()));
        }
        for choice in Choice::ALL.into_iter().filter(|choice| read.contains(choice)) {
            match choice {
                Choice::Local => {
                    let path = local_file(home, &project.top);
                    layers.add_present(File::read_present(&path)?, Origin::Local(path))?;
                }
                Choice::Project => layers.add_project(home)?,
                Choice::User => {
                    let path = home.join("config.toml");
                    layers.add_present(File::read_present(&path)?, Origin::User(path))?;
                    if let Some(user) = user {
                        layers.add_foreign(foreign::of_user(user)?);
                    }
                }
            }
        }
        Ok(layers)
    }

    fn add_managed(&mut self, named: Option<&Path>) -> Result<(), ConfigError> {
        let usual = Path::new(MANAGED_FILE);
        self.add_present(managed(usual)?, Origin::Managed(usual.to_owned()))?;
        if let Some(path) = named {
            let missing = || ConfigError::Missing { named_by: MANAGED, path: path.to_owned() };
            let file = File::read_present(path)?.ok_or_else(missing)?;
            self.add(Layer { origin: Origin::Managed(path.to_owned()), file })?;
        }
        Ok(())
    }

    /// Adds what may count of the project's files: all of it when it is trusted, else only what narrows.
    fn add_project(&mut self, home: &Path) -> Result<(), ConfigError> {
        let top = self.project.top.clone();
        if !is_home(&top.join(".bosun"), home) {
            let path = top.join(CONFIG);
            let file = File::read_below(&top, CONFIG)?;
            let counts = match (file, self.standing) {
                (Some(file), Standing::Changed | Standing::Untrusted) => Some(self.narrow(file, &path)),
                (file, Standing::Trusted) | (file @ None, _) => file,
            };
            self.add_present(counts, Origin::Project(path))?;
        }
        for below in [".claude/settings.local.json", ".claude/settings.json"] {
            self.add_foreign(foreign::of_project(&top, below)?);
        }
        Ok(())
    }

    /// What of an untrusted file counts.
    fn narrow(&mut self, file: File, path: &Path) -> File {
        let Permissions { ask, deny, .. } = file.permissions.clone();
        let narrow = File { permissions: Permissions { ask, deny, ..Permissions::default() }, ..File::default() };
        let kept: Vec<String> = flat(&narrow).into_iter().map(|(key, _)| key).collect();
        self.ignored = flat(&file).into_iter().map(|(key, _)| key).filter(|key| !kept.contains(key)).collect();
        if !self.ignored.is_empty() {
            let why = match self.standing {
                Standing::Changed => "the project has changed since you trusted it",
                Standing::Untrusted | Standing::Trusted => "you have not trusted the project",
            };
            let keys = several(&self.ignored);
            self.notices.push(Notice::warning(path, format!("ignored, since {why}: {keys}; `bosun trust` shows more")));
        }
        // It stays, so that a table that belongs elsewhere is an error in any case.
        File { managed: file.managed, ..narrow }
    }

    fn add_present(&mut self, file: Option<File>, origin: Origin) -> Result<(), ConfigError> {
        file.map_or(Ok(()), |file| self.add(Layer { origin, file }))
    }

    fn add_foreign(&mut self, foreign: Foreign) {
        self.notices.extend(foreign.notices);
        foreign.layer.into_iter().for_each(|layer| self.insert(layer));
    }
}

/// The first of these keys, and how many more there are: a stranger may have written any number of them, of any length.
fn several(keys: &[String]) -> String {
    const SHOWN: usize = 12;
    const LONG: usize = 80;
    let short = |key: &String| key.chars().take(LONG).collect::<String>();
    let first = keys.iter().take(SHOWN).map(short).collect::<Vec<_>>().join(", ");
    match keys.len().checked_sub(SHOWN) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}

/// Reads the machine's managed settings, if there are any. A link that leads nowhere is somebody's mistake, and must not
/// lift what they forbid.
fn managed(path: &Path) -> Result<Option<File>, ConfigError> {
    let file = File::read_present(path)?;
    if file.is_none() && path.symlink_metadata().is_ok() {
        return Err(ConfigError::Missing { named_by: "a link at its place", path: path.to_owned() });
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn managed_settings_that_cannot_be_found_are_not_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("managed.toml");
        assert_eq!(managed(&path).unwrap(), None);
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(managed(&path).unwrap_err().to_string().contains("managed.toml"));
    }
}
