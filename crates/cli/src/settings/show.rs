//! Shows the effective settings and what is ignored.

use std::path::Path;

use config::SettingValue;
use protocol::SessionOptions;
use protocol::api::{SettingView, SettingsNoticeView, SettingsView};
use tui::print;

use crate::args::ConfigShowArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, working_folder};

/// The effective settings of a folder, with these options.
pub(crate) fn view(setup: &Setup, options: &SessionOptions, cwd: &Path) -> Result<SettingsView, CliError> {
    let layers = setup.sources().layers(options, None, cwd)?;
    let notices = layers
        .notices
        .iter()
        .map(|notice| SettingsNoticeView { path: notice.path.display().to_string(), text: notice.text.clone() });
    let control_paths = setup.sources().policy(options, cwd)?.control_paths;
    Ok(SettingsView {
        top: layers.project.dir.display().to_string(),
        trust: layers.trust.view(),
        settings: layers.values().into_iter().map(setting_view).collect(),
        ignored: layers.ignored.clone(),
        out_of_reach: control_paths.iter().map(|path| path.display().to_string()).collect(),
        notices: notices.collect(),
    })
}

fn setting_view(SettingValue { key, value, origin }: SettingValue) -> SettingView {
    let file = origin.file().map(|file| file.display().to_string());
    SettingView { key, value, file, origin: origin.to_string() }
}

pub(super) fn show(setup: &Setup, args: &ConfigShowArgs) -> Result<CommandExit, CliError> {
    let report = view(setup, &args.permissions.session_options(), &working_folder(None)?)?;
    if args.json {
        print::json(&report);
        return Ok(CommandExit::Success);
    }
    for SettingView { key, value, origin, .. } in &report.settings {
        let origin = if args.origin { format!("  # {origin}") } else { String::new() };
        print::output(print::sanitize(&format!("{key} = {value}{origin}")));
    }
    for SettingsNoticeView { path, text } in &report.notices {
        print::note(print::sanitize(&format!("{path}: {text}")));
    }
    Ok(CommandExit::Success)
}
