//! Lists and checks the settings files.

use std::path::{Path, PathBuf};

use config::{Project, SettingsFile};
use protocol::api::{SettingsFileView, SettingsFormat};
use tui::print;

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure, working_folder};

/// Lists the files of this folder, strongest first.
pub(super) fn list(setup: &Setup, json: bool) -> Result<CommandExit, CliError> {
    let files = setup.sources().settings_files(&working_folder(None)?);
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
        for SettingsFileView { layer, path, .. } in setup.sources().settings_files(&cwd).iter().filter(present) {
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
