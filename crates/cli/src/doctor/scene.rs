//! What the checks look at.

use std::path::{Path, PathBuf};

use config::{Access, Config, Env, File};

use super::Check;
use crate::{log, setup};

/// The settings and folders of this process, as far as they can be used.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) env: Env,
    /// Bosun's folder, whether it exists or not.
    pub(super) home: Option<PathBuf>,
    /// The folder to work in.
    pub(super) cwd: PathBuf,
    /// The top of the repository around it, or that folder itself.
    pub(super) top: PathBuf,
    pub(super) config: Config,
    /// The way to models; none when a provider is described wrongly.
    pub(super) access: Option<Access>,
}

impl Scene {
    /// Reads what there is; what is wrong with it becomes checks.
    pub(super) fn read() -> (Scene, Vec<Check>) {
        let mut checks = Vec::new();
        let env = Env::read();
        let cwd = setup::folder(None).unwrap_or_else(|_failure| {
            let text = "the working directory does not exist or may not be entered";
            checks.push(Check::fail("folder", text, "change to a folder of your own"));
            PathBuf::from("/")
        });
        let top = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd).to_owned();
        let file = env.home.as_deref().map(|home| user_file(home, &mut checks)).unwrap_or_default();
        let config = file.resolve();
        log::hide(&config.secrets(&env));
        let access = match config.access(&env) {
            Ok(access) => Some(access),
            Err(error) => {
                checks.push(Check::fail("providers", error.to_string(), "correct the variable, or unset it"));
                None
            }
        };
        (Scene { home: env.home.clone(), env, cwd, top, config, access }, checks)
    }
}

fn user_file(home: &Path, checks: &mut Vec<Check>) -> File {
    let path = home.join("config.toml");
    let exists = path.exists();
    match File::read(&path) {
        Ok(file) => {
            if exists {
                checks.push(Check::ok("config", format!("{} can be used", path.display())));
            }
            file
        }
        Err(error) => {
            let remedy = format!("correct {}, or move it away", path.display());
            checks.push(Check::fail("config", error.to_string(), remedy));
            File::default()
        }
    }
}
