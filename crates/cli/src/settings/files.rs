//! Lists and checks the settings files.

use std::path::{Path, PathBuf};

use config::{MANAGED_FILE, Project, SettingsFile, local_file};
use protocol::api::{SettingsFileView, SettingsFormat};
use tui::print;

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure, working_folder};

/// Lists the files of this folder, strongest first.
pub(super) fn list(setup: &Setup, json: bool) -> Result<CommandExit, CliError> {
    let files = candidates(setup, &working_folder(None)?);
    if json {
        print::json(&files);
        return Ok(CommandExit::Success);
    }
    for SettingsFileView { layer, path, exists, form: _ } in files {
        let missing = if exists { "" } else { "  (missing)" };
        print::output(print::sanitize(&format!("{layer:8} {path}{missing}")));
    }
    Ok(CommandExit::Success)
}

/// Prints the problems of each file.
pub(super) fn check(setup: &Setup, files: &[PathBuf]) -> Result<CommandExit, CliError> {
    let mut exit = CommandExit::Success;
    let mut report = |path: &Path, read: Result<(), CliError>| match read {
        Ok(()) => print::output(print::sanitize(&format!("{}: ok", path.display()))),
        Err(failure) => {
            failure.print();
            exit = CommandExit::Usage;
        }
    };
    for path in files {
        let missing = || CliError::usage(format!("{} does not exist", path.display()));
        report(
            path,
            SettingsFile::read_if_present(path)
                .map_err(settings_failure)
                .and_then(|file| file.map(|_file| ()).ok_or_else(missing)),
        );
    }
    if files.is_empty() {
        let cwd = working_folder(None)?;
        let project = Project::find(&cwd);
        let present = |file: &&SettingsFileView| file.exists && file.form == SettingsFormat::Toml;
        for SettingsFileView { layer, path, .. } in candidates(setup, &cwd).iter().filter(present) {
            let path = Path::new(path);
            let read = match layer.as_str() {
                "project" => project.settings().map(|_settings| ()),
                _users => SettingsFile::read(path).map(|_file| ()),
            };
            report(path, read.map_err(settings_failure));
        }
        if exit == CommandExit::Success {
            // Each file may be well formed but contain settings that it may not set.
            setup.layers_here()?;
        }
    }
    Ok(exit)
}

/// The settings files of a folder, strongest first.
pub(crate) fn candidates(setup: &Setup, cwd: &Path) -> Vec<SettingsFileView> {
    let (home, project) = (setup.home.root(), Project::find(cwd));
    let managed = [Some(PathBuf::from(MANAGED_FILE)), setup.env.managed.clone()].into_iter().flatten();
    let claude = |name: &str| project.dir.join(".claude").join(name);
    let toml = |layer, path| (layer, path, SettingsFormat::Toml);
    let mut files: Vec<_> = managed.map(|path| toml("managed", path)).collect();
    files.extend([
        toml("local", local_file(home, &project.dir)),
        toml("project", project.config_file()),
        ("project", claude("settings.local.json"), SettingsFormat::Claude),
        ("project", claude("settings.json"), SettingsFormat::Claude),
        toml("user", home.join("config.toml")),
    ]);
    let users =
        setup.env.user_home.iter().map(|user| ("user", user.join(".claude/settings.json"), SettingsFormat::Claude));
    files.extend(users);
    let candidate = |(layer, path, form): (&str, PathBuf, _)| {
        let exists = path.symlink_metadata().is_ok();
        SettingsFileView { layer: layer.to_owned(), path: path.display().to_string(), exists, form }
    };
    files.into_iter().map(candidate).collect()
}
