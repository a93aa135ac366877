//! Settings from the user's file and environment.

#![cfg(test)]

extern crate bosun_config as config;

mod agents;
mod catalog;
mod controls;
mod documents;
mod foreign;
mod import;
mod layers;
mod mcp_servers;
mod mistakes;
mod plans;
mod project_servers;
mod providers;
mod settings;
mod trust;

use protocol::SettingsFileScope;
use std::fs;
use std::path::{Path, PathBuf};

use config::{
    Config, ConfigError, Env, ModelAccess, Project, SettingsFile, SettingsLayers, SettingsLocations, TrustStatus,
};
use tempfile::TempDir;

/// The settings of a file with this text, or the error.
fn read(text: &str) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs::write(&path, text).unwrap();
    let shown = |error: config::ConfigError| error.to_string().replace(&path.display().to_string(), "config.toml");
    SettingsFile::read(&path).map(SettingsFile::resolve).map_err(shown)
}

fn access(text: &str, vars: &[(&str, &str)]) -> Result<ModelAccess, String> {
    let vars: Vec<_> = vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
    read(text)?.access(&Env::from(vars)).map_err(|error| error.to_string())
}

/// A machine with a home, a user and a project, all empty.
struct Machine {
    base: TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { base: tempfile::tempdir().unwrap() };
        for folder in ["home", "user", "project/.git"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        machine
    }

    /// A path on the machine, such as `home/config.toml`.
    fn path(&self, below: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(below)
    }

    /// Writes a file, and the folders it is in.
    fn write(&self, below: &str, text: &str) -> &Machine {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn top(&self) -> PathBuf {
        self.path("project")
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    fn layers(&self, standing: TrustStatus) -> Result<SettingsLayers, ConfigError> {
        self.chosen(standing, &SettingsFileScope::ALL)
    }

    fn chosen(&self, standing: TrustStatus, read: &[SettingsFileScope]) -> Result<SettingsLayers, ConfigError> {
        let (home, user, managed) = (self.home(), self.path("user"), self.path("managed.toml"));
        SettingsLayers::read(&SettingsLocations {
            home: &home,
            user_home: Some(&user),
            managed: managed.exists().then_some(&managed),
            project: Project::find(&self.top()),
            trust: standing,
            scopes: read,
        })
    }

    /// The text without parts that differ from run to run.
    fn shown(&self, text: impl ToString) -> String {
        text.to_string().replace(&self.path("").display().to_string(), "/")
    }

    fn local(&self) -> PathBuf {
        config::local_file(&self.home(), &self.top())
    }

    fn write_local(&self, text: &str) -> &Machine {
        let below = self.local();
        let below = below.strip_prefix(self.path("")).map(Path::to_owned).unwrap();
        self.write(below.to_str().unwrap(), text)
    }
}
