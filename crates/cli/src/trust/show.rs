//! Shows a project's trusted files, as text or JSON.

use std::path::{Path, PathBuf};

use config::{Project, TrustStatus, TrustedContents, TrustedHook};
use host::{Clock, SystemClock};
use protocol::HookEvent;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::{Setup, settings_failure};

/// A project, and what its files control.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectTrustReport {
    top: PathBuf,
    trust: &'static str,
    /// The settings in its file.
    settings: Map<String, Value>,
    /// The commands of its hooks.
    hooks: Vec<ProjectTrustHook>,
    /// All files that control Bosun, now or in a later version.
    files: Vec<PathBuf>,
}

/// A hook that would run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProjectTrustHook {
    source: String,
    event: HookEvent,
    runs: String,
}

impl ProjectTrustReport {
    pub(super) fn new(
        setup: &Setup,
        project: &Project,
        contents: &TrustedContents,
        status: TrustStatus,
    ) -> Result<ProjectTrustReport, CliError> {
        let settings = if contents.files.iter().any(|file| file == Path::new(".bosun/config.toml")) {
            project.settings().map_err(settings_failure)?
        } else {
            Vec::new()
        };
        let trust = if TrustedContents::has_any(&project.dir, setup.home.root()) {
            status.as_str()
        } else {
            "nothing to trust"
        };
        Ok(ProjectTrustReport {
            top: project.dir.clone(),
            trust,
            settings: settings.into_iter().collect(),
            hooks: contents.hooks.iter().map(|hook| ProjectTrustHook::new(hook, &project.dir)).collect(),
            files: contents.files.clone(),
        })
    }

    /// The report after the project was trusted.
    pub(super) fn into_trusted(self) -> ProjectTrustReport {
        ProjectTrustReport { trust: TrustStatus::Trusted.as_str(), ..self }
    }

    pub(super) fn print(&self, json: bool) {
        if json {
            return print::json(self);
        }
        // Any part of a line may come from an untrusted file.
        let print_line = |line: String| print::output(print::sanitize(&line).replace(['\n', '\t'], " "));
        print_line(format!("{}: {}", self.top.display(), self.trust));
        if !self.settings.is_empty() {
            print_line("its settings:".into());
        }
        for (key, value) in &self.settings {
            print_line(format!("  {key} = {value}"));
        }
        if !self.hooks.is_empty() {
            print_line("its hooks, which run without asking once you trust it:".into());
        }
        for ProjectTrustHook { source, event, runs } in &self.hooks {
            let event = serde_json::to_value(event).ok();
            let event = event.as_ref().and_then(Value::as_str).unwrap_or_default();
            print_line(format!("  {event}: {runs}  ({source})"));
        }
        if !self.files.is_empty() {
            print_line("its files that control Bosun, now or in a later version:".into());
        }
        for file in &self.files {
            print_line(format!("  {}", file.display()));
        }
    }
}

impl ProjectTrustHook {
    fn new(hook: &TrustedHook, top: &Path) -> ProjectTrustHook {
        let top = format!("{}/", top.display());
        let source = hook.source.strip_prefix(&top).unwrap_or(&hook.source).to_owned();
        ProjectTrustHook { source, event: hook.event, runs: hook.action.clone() }
    }
}

/// A trusted project in the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrustListRow {
    top: String,
    trust: &'static str,
    trusted_at: u64,
}

/// Lists the trusted projects, and those that have changed since.
pub(super) fn list(setup: &Setup, json: bool) -> Result<CommandExit, CliError> {
    let rows = client::trust::list(&setup.home)?;
    let status = |top: &str, digest: &str| TrustStatus::check(Path::new(top), setup.home.root(), Some(digest)).as_str();
    let rows: Vec<TrustListRow> = rows
        .into_iter()
        .map(|row| TrustListRow { trust: status(&row.top, &row.digest), trusted_at: row.at.0, top: row.top })
        .collect();
    if json {
        print::json(&rows);
        return Ok(CommandExit::Success);
    }
    if rows.is_empty() {
        print::note("no project is trusted");
    }
    let now = SystemClock.now();
    for TrustListRow { top, trust, trusted_at } in rows {
        let ago = protocol::format_age(protocol::Timestamp(trusted_at), now);
        print::output(print::sanitize(&format!("{trust:9} {ago:>8}  {top}")));
    }
    Ok(CommandExit::Success)
}
