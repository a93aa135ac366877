//! What the checks look at.

use std::path::{Path, PathBuf};

use config::{
    Config, ConfigError, Env, ModelAccess, Project, SettingsFileScope, SettingsLayers, SettingsLocations, TrustStatus,
};
use host::Home;

use super::DoctorCheck;
use crate::style::Style;
use crate::{log, print, setup};

/// The settings and folders of this process, as far as they can be used.
#[derive(Debug)]
pub(super) struct DoctorContext {
    pub(super) env: Env,
    /// Bosun's folder, whether it exists or not.
    pub(super) home: Option<PathBuf>,
    /// The folder to work in.
    pub(super) cwd: PathBuf,
    /// The top of the repository around it, or that folder itself.
    pub(super) top: PathBuf,
    /// The settings that count here; none when one of their files cannot be used.
    pub(super) layers: Option<SettingsLayers>,
    pub(super) config: Config,
    /// The way to models; none when a provider is described wrongly.
    pub(super) access: Option<ModelAccess>,
}

impl DoctorContext {
    /// Reads what there is; what is wrong with it becomes checks.
    pub(super) fn read() -> (DoctorContext, Vec<DoctorCheck>) {
        let mut checks = Vec::new();
        let env = Env::read();
        print::set_style(Style::of(&std::io::stdout(), &env));
        let cwd = setup::folder(None).unwrap_or_else(|_failure| {
            let text = "the working directory does not exist or may not be entered";
            checks.push(DoctorCheck::fail("folder", text, "change to a folder of your own"));
            PathBuf::from("/")
        });
        let project = Project::find(&cwd);
        let top = project.top.clone();
        let layers = match layers(&env, project) {
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
        let config = layers.as_ref().map_or_else(|| config::SettingsFile::default().resolve(), SettingsLayers::config);
        log::redact_secrets(&config.secrets(&env));
        let access = match config.access(&env) {
            Ok(access) => Some(access),
            Err(error) => {
                checks.push(DoctorCheck::fail("providers", error.to_string(), "correct the variable, or unset it"));
                None
            }
        };
        (DoctorContext { home: env.home.clone(), env, cwd, top, layers, config, access }, checks)
    }
}

fn layers(env: &Env, project: Project) -> Result<SettingsLayers, ConfigError> {
    // Without a home there are no files of the user's.
    let home = env.home.as_deref().unwrap_or(Path::new("/nonexistent"));
    let mut layers = SettingsLayers::read(&SettingsLocations {
        home,
        user: env.user.as_deref(),
        managed: env.managed.as_deref(),
        trust: standing(home, &project),
        project,
        scopes: &SettingsFileScope::ALL,
    })?;
    layers.add_environment(env)?;
    layers.check()?;
    Ok(layers)
}

/// How the project stands. Where nothing is remembered yet, nothing is made to remember it in.
fn standing(home: &Path, project: &Project) -> TrustStatus {
    let known = Home::look(home).filter(|home| home.index_db().exists());
    known.map_or(TrustStatus::Untrusted, |home| setup::trust_status(&home, project))
}
