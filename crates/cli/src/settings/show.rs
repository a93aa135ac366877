//! Shows the effective settings and what is ignored.

use std::path::PathBuf;

use config::SettingValue;
use serde::Serialize;

use crate::args::ConfigShowArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::{Setup, working_folder};

/// The effective settings of a folder.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SettingsReport {
    /// The project's topmost folder.
    top: PathBuf,
    /// The trust status of the project.
    trust: &'static str,
    settings: Vec<SettingsReportEntry>,
    /// Keys of the project's settings file that are ignored, since the project is not trusted.
    ignored: Vec<String>,
    /// Paths that no tool may access, even if a rule allows it.
    out_of_reach: Vec<PathBuf>,
    notices: Vec<SettingsReportNotice>,
}

#[derive(Serialize)]
struct SettingsReportEntry {
    key: String,
    value: serde_json::Value,
    origin: String,
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct SettingsReportNotice {
    path: PathBuf,
    text: String,
}

pub(super) fn show(setup: &Setup, args: &ConfigShowArgs) -> Result<CommandExit, CliError> {
    let (cwd, options) = (working_folder(None)?, args.permissions.session_options());
    let layers = setup.sources().layers(&options, None, &cwd)?;
    let notices = layers
        .notices
        .iter()
        .map(|notice| SettingsReportNotice { path: notice.path.clone(), text: notice.text.clone() });
    let report = SettingsReport {
        top: layers.project.dir.clone(),
        trust: layers.trust.as_str(),
        settings: layers.values().into_iter().map(SettingsReportEntry::from).collect(),
        ignored: layers.ignored.clone(),
        out_of_reach: setup.sources().policy(&options, &cwd)?.control_paths,
        notices: notices.collect(),
    };
    if args.json {
        print::json(&report);
        return Ok(CommandExit::Success);
    }
    for SettingsReportEntry { key, value, origin, .. } in &report.settings {
        let origin = if args.origin { format!("  # {origin}") } else { String::new() };
        print::output(print::sanitize(&format!("{key} = {value}{origin}")));
    }
    for SettingsReportNotice { path, text } in &report.notices {
        print::note(print::sanitize(&format!("{}: {text}", path.display())));
    }
    Ok(CommandExit::Success)
}

impl From<SettingValue> for SettingsReportEntry {
    fn from(SettingValue { key, value, origin }: SettingValue) -> SettingsReportEntry {
        SettingsReportEntry { key, value, file: origin.file().map(Into::into), origin: origin.to_string() }
    }
}
