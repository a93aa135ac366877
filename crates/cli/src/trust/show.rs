//! A project's trusted files, and the trusted projects, as text or JSON.

use host::{Clock, SystemClock};
use protocol::api::{ProjectHookView, ProjectTrust, TrustedProjectView, TrustedProjects};
use serde_json::Value;
use tui::print;

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

/// Prints what a project's files control.
pub(super) fn print_project(project: &ProjectTrust, json: bool) {
    if json {
        return print::json(project);
    }
    // Any part of a line may come from an untrusted file.
    let print_line = |line: String| print::output(print::sanitize(&line).replace(['\n', '\t'], " "));
    print_line(format!("{}: {}", project.top, project.trust.as_str()));
    if !project.settings.is_empty() {
        print_line("its settings:".into());
    }
    for (key, value) in &project.settings {
        print_line(format!("  {key} = {value}"));
    }
    if !project.hooks.is_empty() {
        print_line("its hooks, which run without asking once you trust it:".into());
    }
    for ProjectHookView { source, event, runs } in &project.hooks {
        let event = serde_json::to_value(event).ok();
        let event = event.as_ref().and_then(Value::as_str).unwrap_or_default();
        print_line(format!("  {event}: {runs}  ({source})"));
    }
    if !project.files.is_empty() {
        print_line("its files that configure Bosun, including those that only later versions will read:".into());
    }
    for file in &project.files {
        print_line(format!("  {file}"));
    }
}

/// Lists the trusted projects.
pub(super) fn list(setup: &Setup, json: bool) -> Result<CommandExit, CliError> {
    let TrustedProjects { projects } = setup.sources().trusted_projects()?;
    if json {
        print::json(&projects);
        return Ok(CommandExit::Success);
    }
    if projects.is_empty() {
        print::note("no project is trusted");
    }
    let now = SystemClock.now();
    for TrustedProjectView { top, trust, trusted_at } in projects {
        let ago = protocol::format_age(trusted_at, now);
        print::output(print::sanitize(&format!("{:9} {ago:>8}  {top}", trust.as_str())));
    }
    Ok(CommandExit::Success)
}
