//! A project's trusted files, as the API and `--json` show them, and as text.

use std::path::Path;

use client::TrustRow;
use config::{Project, TrustStatus, TrustedContents, TrustedHook};
use host::{Clock, SystemClock};
use protocol::api::{ProjectHookView, ProjectTrust, TrustState, TrustedProjectView, TrustedProjects};
use serde_json::Value;
use tui::print;

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure};

/// What a project's files control, and whether the user trusts them.
pub(super) fn project_trust(
    setup: &Setup,
    project: &Project,
    contents: &TrustedContents,
    status: TrustStatus,
) -> Result<ProjectTrust, CliError> {
    let settings = if contents.files.iter().any(|file| file == Path::new(".bosun/config.toml")) {
        project.settings().map_err(settings_failure)?
    } else {
        Vec::new()
    };
    let trust = match TrustedContents::has_any(&project.dir, setup.home.root()) {
        true => status.view(),
        false => TrustState::NothingToTrust,
    };
    Ok(ProjectTrust {
        top: project.dir.display().to_string(),
        trust,
        settings: settings.into_iter().collect(),
        hooks: contents.hooks.iter().map(|hook| hook_view(hook, &project.dir)).collect(),
        files: contents.files.iter().map(|file| file.display().to_string()).collect(),
        digest: contents.digest.clone(),
    })
}

fn hook_view(hook: &TrustedHook, top: &Path) -> ProjectHookView {
    let top = format!("{}/", top.display());
    let source = hook.source.strip_prefix(&top).unwrap_or(&hook.source).to_owned();
    ProjectHookView { source, event: hook.event, runs: hook.action.clone() }
}

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

/// The trusted projects, and those that have changed since.
pub(crate) fn trusted_projects(setup: &Setup) -> Result<TrustedProjects, CliError> {
    let status = |row: &TrustRow| TrustStatus::check(Path::new(&row.top), setup.home.root(), Some(&row.digest));
    let view = |row: TrustRow| TrustedProjectView { trust: status(&row).view(), trusted_at: row.at, top: row.top };
    Ok(TrustedProjects { projects: client::trust::list(&setup.home)?.into_iter().map(view).collect() })
}

/// Lists the trusted projects.
pub(super) fn list(setup: &Setup, json: bool) -> Result<CommandExit, CliError> {
    let TrustedProjects { projects } = trusted_projects(setup)?;
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
