//! The settings layers of a folder, and the policy derived from them.

use std::path::{Path, PathBuf};

use policy::Policy;
use protocol::api::SessionView;
use protocol::{Refusal, SessionOptions};

use super::SettingsSources;
use crate::catalog::LoadedCatalog;
use crate::controls;
use crate::file::SettingsFile;
use crate::gather::SettingsLocations;
use crate::layers::{SettingsLayer, SettingsLayers};
use crate::origin::SettingOrigin;
use crate::project::Project;
use crate::read::ConfigError;
use crate::session_options;
use crate::trust::TrustStatus;

impl SettingsSources<'_> {
    /// All layers that apply in a folder (a canonical path): files, environment, resumed session, and options.
    pub fn layers(
        &self,
        options: &SessionOptions,
        resumed: Option<&SessionView>,
        cwd: &Path,
    ) -> Result<SettingsLayers, Refusal> {
        let flags = SettingsFile::from_options(options).map_err(Refusal::new)?;
        let mut layers = self.read_layers(options, flags, Project::find(cwd))?;
        if let Some(resumed) = resumed {
            let invalid = |error| Refusal::new(format!("session {}: {error}", resumed.id));
            layers.add_session(SettingsFile::from_session(resumed).map_err(invalid)?);
        }
        layers.check_mode().map_err(|error| match resumed {
            Some(_) => Refusal::new(error).with_hint("--permission-mode changes the session's mode"),
            None => Refusal::new(error),
        })?;
        Ok(layers)
    }

    /// The layers without those of a resumed session.
    fn read_layers(
        &self,
        options: &SessionOptions,
        flags: SettingsFile,
        project: Project,
    ) -> Result<SettingsLayers, Refusal> {
        let (config_file, top) = (project.config_file(), project.dir.clone());
        let locations = SettingsLocations {
            home: self.home.root(),
            user_home: self.env.user_home.as_deref(),
            managed: self.env.managed.as_deref(),
            trust: TrustStatus::look_up(self.home, &project),
            project,
            scopes: session_options::scopes(options),
        };
        let read = || -> Result<SettingsLayers, ConfigError> {
            let mut layers = SettingsLayers::read(&locations)?;
            layers.add_environment(self.env)?;
            layers.add(SettingsLayer { origin: SettingOrigin::Flag, file: flags })?;
            if let Some(value) = options.settings.as_deref() {
                layers.add(settings_option_layer(value)?)?;
            }
            Ok(layers)
        };
        read().map_err(|error| {
            // Bosun's own settings are TOML.
            let is_other_product_file = |path: &Path| path.extension().is_some_and(|end| end == "json");
            let hint = match error.path() {
                Some(path) if path == config_file || (path.starts_with(&top) && is_other_product_file(path)) => {
                    Some("--setting-sources user,local leaves the project's settings out")
                }
                Some(path) if is_other_product_file(path) => {
                    Some("--setting-sources project,local leaves your own settings out")
                }
                Some(_) | None => None,
            };
            Refusal { message: error.to_string(), hint: hint.map(str::to_owned) }
        })
    }

    /// The policy for tool calls in a folder.
    pub fn policy(&self, options: &SessionOptions, cwd: &Path) -> Result<Policy, Refusal> {
        let layers = self.layers(options, None, cwd)?;
        let catalog = self.load_catalog(&layers, options)?;
        let policy = self.policy_of(&layers, &catalog, cwd, &self.added_folders(&layers)?.paths)?;
        Ok(Policy { asks_reads: options.ask_reads, ..policy })
    }

    /// Builds the policy from these layers and definitions.
    pub(super) fn policy_of(
        &self,
        layers: &SettingsLayers,
        catalog: &LoadedCatalog,
        cwd: &Path,
        added_folders: &[PathBuf],
    ) -> Result<Policy, Refusal> {
        let top = layers.project.dir.clone();
        let folders: Vec<&Path> =
            [top.as_path(), cwd].into_iter().chain(added_folders.iter().map(PathBuf::as_path)).collect();
        let user = self.env.user_home.as_deref();
        let mut controls = controls::all_controls(self.home.root(), user, layers, &folders);
        controls.extend(catalog.hook_programs(&folders, user));
        controls.sort();
        controls.dedup();
        Ok(Policy {
            mode: layers.config().mode,
            asks_reads: false,
            rules: layers.rules().map_err(Refusal::new)?,
            project_dir: top,
            work_folders: added_folders.to_vec(),
            user_home: self.env.user_home.clone(),
            control_paths: controls,
            exempt_folders: Vec::new(),
        })
    }
}

/// The layer of the option `settings`.
fn settings_option_layer(value: &str) -> Result<SettingsLayer, ConfigError> {
    if value.trim_start().starts_with('{') {
        let file = SettingsFile::parse(value, Path::new("--settings"))?;
        return Ok(SettingsLayer { origin: SettingOrigin::SettingsFlag(None), file });
    }
    let path = Path::new(value);
    let missing = || ConfigError::Missing { named_by: "--settings", path: path.to_owned() };
    let file = SettingsFile::read_if_present(path)?.ok_or_else(missing)?;
    Ok(SettingsLayer { origin: SettingOrigin::SettingsFlag(Some(path.to_owned())), file })
}
