//! The settings layers of a folder, and the policy derived from them.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use config::{
    ConfigError, NoticeLevel, Project, SettingOrigin, SettingsFile, SettingsLayer, SettingsLayers, SettingsLocations,
    TrustStatus, TrustedContents,
};
use host::Home;
use policy::Policy;
use protocol::api::SessionView;
use protocol::{SessionOptions, SettingsFileScope};

use super::{LoadedCatalog, Setup, real_folder, working_folder};
use crate::args::PermissionArgs;
use crate::error::CliError;
use crate::print;

impl Setup {
    /// All layers that apply in a folder (a canonical path): files, environment, resumed session, and flags.
    pub(crate) fn layers(
        &self,
        options: &SessionOptions,
        resumed: Option<&SessionView>,
        cwd: &Path,
    ) -> Result<SettingsLayers, CliError> {
        let flags = SettingsFile::from_options(options).map_err(settings_failure)?;
        let project = Project::find(cwd);
        let (config_file, top) = (project.config_file(), project.dir.clone());
        let locations = SettingsLocations {
            home: self.home.root(),
            user_home: self.env.user_home.as_deref(),
            managed: self.env.managed.as_deref(),
            trust: self.trust_status(&project),
            project,
            scopes: options.setting_sources.as_deref().unwrap_or(&SettingsFileScope::ALL),
        };
        let read = || -> Result<SettingsLayers, ConfigError> {
            let mut layers = SettingsLayers::read(&locations)?;
            layers.add_environment(&self.env)?;
            layers.add(SettingsLayer { origin: SettingOrigin::Flag, file: flags })?;
            if let Some(value) = options.settings.as_deref() {
                layers.add(settings_flag_layer(value)?)?;
            }
            Ok(layers)
        };
        let mut layers = read().map_err(|error| {
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
            let failure = settings_failure(error);
            match hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })?;
        if let Some(resumed) = resumed {
            layers.add_session(
                SettingsFile::from_session(resumed)
                    .map_err(|error| settings_failure(format!("session {}: {error}", resumed.id)))?,
            );
        }
        layers.check_mode().map_err(|error| match resumed {
            Some(_) => settings_failure(error).with_hint("--permission-mode changes the session's mode"),
            None => settings_failure(error),
        })?;
        Ok(layers)
    }

    /// All layers that apply in the working folder, without a session.
    pub(crate) fn layers_here(&self) -> Result<SettingsLayers, CliError> {
        self.layers(&SessionOptions::default(), None, &working_folder(None)?)
    }

    /// The policy for tool calls in a folder.
    pub(crate) fn policy(
        &self,
        options: &SessionOptions,
        resumed: Option<&SessionView>,
        cwd: &Path,
    ) -> Result<Policy, CliError> {
        let layers = self.layers(options, resumed, cwd)?;
        let catalog = self.load_catalog(&layers, options)?;
        self.policy_of(&layers, &catalog, cwd, &self.roots(&layers)?)
    }

    /// The trust status of a project.
    pub(crate) fn trust_status(&self, project: &Project) -> TrustStatus {
        trust_status(&self.home, project)
    }

    /// Builds the policy from these layers and definitions.
    pub(super) fn policy_of(
        &self,
        layers: &SettingsLayers,
        catalog: &LoadedCatalog,
        cwd: &Path,
        roots: &[PathBuf],
    ) -> Result<Policy, CliError> {
        let top = layers.project.dir.clone();
        let folders: Vec<&Path> = [top.as_path(), cwd].into_iter().chain(roots.iter().map(PathBuf::as_path)).collect();
        let user = self.env.user_home.as_deref();
        let mut controls = config::all_controls(self.home.root(), user, layers, &folders);
        controls.extend(catalog.hook_programs(&folders, user));
        controls.sort();
        controls.dedup();
        Ok(Policy {
            mode: layers.config().mode,
            rules: layers.rules().map_err(settings_failure)?,
            project_dir: top,
            work_folders: roots.to_vec(),
            user_home: self.env.user_home.clone(),
            control_paths: controls,
            exempt_folders: Vec::new(),
        })
    }

    /// The additional folders of the workspace, as canonical paths. A resumed session drops those that are gone.
    pub(super) fn roots(&self, layers: &SettingsLayers) -> Result<Vec<PathBuf>, CliError> {
        let mut roots = Vec::new();
        for (path, origin) in layers.added_folders(self.env.user_home.as_deref()) {
            let real = match real_folder(&path) {
                Ok(real) => real,
                Err(error) => {
                    let problem = format!("cannot work in {}, named by {origin}: {error}", path.display());
                    if origin != SettingOrigin::Session {
                        return Err(settings_failure(problem));
                    }
                    print::note(print::sanitize(&problem));
                    continue;
                }
            };
            if !roots.contains(&real) {
                roots.push(real);
            }
        }
        Ok(roots)
    }
}

/// The trust status of a project in this home. A project whose trust cannot be looked up is not trusted.
pub(crate) fn trust_status(home: &Home, project: &Project) -> TrustStatus {
    if !TrustedContents::has_any(&project.dir, home.root()) {
        return TrustStatus::Untrusted;
    }
    let remembered = project.dir.to_str().and_then(|top| {
        let digest = client::trust::digest(home, top);
        digest.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look up trust");
            None
        })
    });
    TrustStatus::check(&project.dir, home.root(), remembered.as_deref())
}

impl PermissionArgs {
    /// Warns of rules given as flags that match nothing because their tool does not exist.
    pub(super) fn warn_unknown_tools(&self) {
        for rule in [&self.allow, &self.ask, &self.deny].into_iter().flatten() {
            if let Some(tool) = rule.unknown_tool() {
                let rule = rule.text();
                let text = format!("warning: the rule `{rule}` matches nothing: there is no tool called `{tool}`");
                print::note(print::sanitize(&text));
            }
        }
    }
}

/// Prints the warnings about the settings files at the start of a run.
pub(super) fn print_warnings(layers: &SettingsLayers) {
    for notice in layers.notices.iter().filter(|notice| notice.level == NoticeLevel::Warning) {
        print::note(print::sanitize(&format!("{}: {}", notice.path.display(), notice.text)));
    }
}

/// An error for unusable settings. Its text may quote untrusted input.
pub(crate) fn settings_failure(error: impl Display) -> CliError {
    CliError::usage(print::sanitize(&error.to_string()))
}

/// The layer of `--settings`.
fn settings_flag_layer(value: &str) -> Result<SettingsLayer, ConfigError> {
    if value.trim_start().starts_with('{') {
        let file = SettingsFile::parse(value, Path::new("--settings"))?;
        return Ok(SettingsLayer { origin: SettingOrigin::SettingsFlag(None), file });
    }
    let path = Path::new(value);
    let missing = || ConfigError::Missing { named_by: "--settings", path: path.to_owned() };
    let file = SettingsFile::read_if_present(path)?.ok_or_else(missing)?;
    Ok(SettingsLayer { origin: SettingOrigin::SettingsFlag(Some(path.to_owned())), file })
}
