//! Input of the checks.

use std::path::{Path, PathBuf};

use crate::{
    Config, ConfigError, Env, ModelAccess, Project, SettingsLayers, SettingsLocations, TrustStatus, working_folder,
};
use host::Home;
use protocol::SettingsFileScope;

use super::DoctorCheck;

/// The settings and folders of this process, as far as they are usable.
#[derive(Debug)]
pub(super) struct DoctorContext {
    pub(super) env: Env,
    /// Bosun's home folder, which may not exist.
    pub(super) home: Option<PathBuf>,
    /// The working folder.
    pub(super) cwd: PathBuf,
    /// The top of its repository, or the working folder itself.
    pub(super) project_dir: PathBuf,
    /// The settings in effect; none if one of their files cannot be used.
    pub(super) layers: Option<SettingsLayers>,
    pub(super) config: Config,
    /// Access to models; none if a provider is misconfigured.
    pub(super) access: Option<ModelAccess>,
}

impl DoctorContext {
    /// Reads the context; problems become checks.
    pub(super) fn read(env: &Env) -> (DoctorContext, Vec<DoctorCheck>) {
        let mut checks = Vec::new();
        let cwd = working_folder(None).unwrap_or_else(|_failure| {
            let text = "the working folder does not exist or you may not enter it";
            checks.push(DoctorCheck::fail("folder", text, "change to a folder of your own"));
            PathBuf::from("/")
        });
        let project = Project::find(&cwd);
        let top = project.dir.clone();
        let layers = match layers(env, project) {
            Ok(layers) => Some(layers),
            Err(error) => {
                let remedy = error.path().map_or_else(
                    || "correct the variable that names it".to_owned(),
                    |path| format!("correct {}, or move it away", path.display()),
                );
                checks.push(DoctorCheck::fail("config", error.to_string(), remedy));
                None
            }
        };
        let config = layers.as_ref().map_or_else(|| crate::SettingsFile::default().resolve(), SettingsLayers::config);
        let access = match config.access(env) {
            Ok(access) => Some(access),
            Err(error) => {
                checks.push(DoctorCheck::fail("providers", error.to_string(), "correct the variable, or unset it"));
                None
            }
        };
        (
            DoctorContext { home: env.home.clone(), env: env.clone(), cwd, project_dir: top, layers, config, access },
            checks,
        )
    }
}

fn layers(env: &Env, project: Project) -> Result<SettingsLayers, ConfigError> {
    // Without a home there are no user files.
    let home = env.home.as_deref().unwrap_or(Path::new("/nonexistent"));
    let mut layers = SettingsLayers::read(&SettingsLocations {
        home,
        user_home: env.user_home.as_deref(),
        managed: env.managed.as_deref(),
        trust: project_trust(home, &project),
        project,
        scopes: &SettingsFileScope::ALL,
    })?;
    layers.add_environment(env)?;
    layers.check_mode()?;
    Ok(layers)
}

/// Returns the trust status of the project, without creating an index if there is none.
fn project_trust(home: &Path, project: &Project) -> TrustStatus {
    let home = Home::open_as_is(home).filter(|home| home.index_db().exists());
    home.map_or(TrustStatus::Untrusted, |home| TrustStatus::look_up(&home, project))
}
