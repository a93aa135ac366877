//! Shows the effective settings and what is ignored.

use protocol::api::{SettingView, SettingsNoticeView};
use tui::print;

use crate::args::ConfigShowArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, working_folder};

pub(super) fn show(setup: &Setup, args: &ConfigShowArgs) -> Result<CommandExit, CliError> {
    let report = setup.sources().settings_view(&args.permissions.session_options(), &working_folder(None)?)?;
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
