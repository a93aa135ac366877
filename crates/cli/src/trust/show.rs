//! What there is to trust, for people and programs.

use std::path::{Path, PathBuf};

use config::{Project, TrustStatus, TrustedContents, TrustedHook};
use host::{Clock, SystemClock};
use protocol::HookEvent;
use serde::Serialize;
use serde_json::{Map, Value};
use store::TrustStore;

use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure};
use crate::{print, time};

/// A project, and what its files would do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectTrustReport {
    top: PathBuf,
    trust: &'static str,
    /// What its settings say.
    settings: Map<String, Value>,
    /// What its hooks run.
    hooks: Vec<ProjectTrustHook>,
    /// Everything of it that controls Bosun, now or in a later version.
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
        entrusted: &TrustedContents,
        standing: TrustStatus,
    ) -> Result<ProjectTrustReport, CliError> {
        let settings = if entrusted.files.iter().any(|file| file == Path::new(".bosun/config.toml")) {
            project.settings().map_err(settings_failure)?
        } else {
            Vec::new()
        };
        let trust = if TrustedContents::has_any(&project.top, setup.home.root()) {
            standing.as_str()
        } else {
            "nothing to trust"
        };
        Ok(ProjectTrustReport {
            top: project.top.clone(),
            trust,
            settings: settings.into_iter().collect(),
            hooks: entrusted.hooks.iter().map(|hook| ProjectTrustHook::new(hook, &project.top)).collect(),
            files: entrusted.files.clone(),
        })
    }

    /// The same project, once it is trusted.
    pub(super) fn into_trusted(self) -> ProjectTrustReport {
        ProjectTrustReport { trust: TrustStatus::Trusted.as_str(), ..self }
    }

    pub(super) fn print(&self, json: bool) {
        if json {
            return print::json(self);
        }
        // Every word of it may be a stranger's.
        let tell = |line: String| print::output(print::sanitize(&line).replace(['\n', '\t'], " "));
        tell(format!("{}: {}", self.top.display(), self.trust));
        if !self.settings.is_empty() {
            tell("its settings:".into());
        }
        for (key, value) in &self.settings {
            tell(format!("  {key} = {value}"));
        }
        if !self.hooks.is_empty() {
            tell("its hooks, which run without asking once you trust it:".into());
        }
        for ProjectTrustHook { source, event, runs } in &self.hooks {
            let event = serde_json::to_value(event).ok();
            let event = event.as_ref().and_then(Value::as_str).unwrap_or_default();
            tell(format!("  {event}: {runs}  ({source})"));
        }
        if !self.files.is_empty() {
            tell("its files that control Bosun, now or in a later version:".into());
        }
        for file in &self.files {
            tell(format!("  {}", file.display()));
        }
    }
}

impl ProjectTrustHook {
    fn new(hook: &TrustedHook, top: &Path) -> ProjectTrustHook {
        let top = format!("{}/", top.display());
        let source = hook.source.strip_prefix(&top).unwrap_or(&hook.source).to_owned();
        ProjectTrustHook { source, event: hook.event, runs: hook.runs.clone() }
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

/// Lists the projects that are trusted, and those that have changed since.
pub(super) fn list(setup: &Setup, json: bool) -> Result<CommandExit, CliError> {
    let rows = TrustStore::open(&setup.home)?.list()?;
    let standing = |top: &str, digest: &str| TrustStatus::of(Path::new(top), setup.home.root(), Some(digest)).as_str();
    let rows: Vec<TrustListRow> = rows
        .into_iter()
        .map(|row| TrustListRow { trust: standing(&row.top, &row.digest), trusted_at: row.at.0, top: row.top })
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
        let ago = time::format_age(protocol::Timestamp(trusted_at), now);
        print::output(print::sanitize(&format!("{trust:9} {ago:>8}  {top}")));
    }
    Ok(CommandExit::Success)
}
