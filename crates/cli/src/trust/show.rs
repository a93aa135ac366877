//! What there is to trust, for people and programs.

use std::path::{Path, PathBuf};

use config::{Entrusted, EntrustedHook, Project, Standing};
use host::{Clock, SystemClock};
use protocol::HookEvent;
use serde::Serialize;
use serde_json::{Map, Value};
use store::Trust;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::{Setup, refused};
use crate::{print, time};

/// A project, and what its files would do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    top: PathBuf,
    trust: &'static str,
    /// What its settings say.
    settings: Map<String, Value>,
    /// What its hooks run.
    hooks: Vec<ShownHook>,
    /// Everything of it that controls Bosun, now or in a later version.
    files: Vec<PathBuf>,
}

/// A hook that would run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownHook {
    source: String,
    event: HookEvent,
    runs: String,
}

impl Shown {
    pub(super) fn new(
        setup: &Setup,
        project: &Project,
        entrusted: &Entrusted,
        standing: Standing,
    ) -> Result<Shown, Failure> {
        let settings = if entrusted.files.iter().any(|file| file == Path::new(".bosun/config.toml")) {
            project.settings().map_err(refused)?
        } else {
            Vec::new()
        };
        let trust =
            if Entrusted::exist(&project.top, setup.home.root()) { standing.word() } else { "nothing to trust" };
        Ok(Shown {
            top: project.top.clone(),
            trust,
            settings: settings.into_iter().collect(),
            hooks: entrusted.hooks.iter().map(|hook| ShownHook::new(hook, &project.top)).collect(),
            files: entrusted.files.clone(),
        })
    }

    /// The same project, once it is trusted.
    pub(super) fn trusted(self) -> Shown {
        Shown { trust: Standing::Trusted.word(), ..self }
    }

    pub(super) fn print(&self, json: bool) {
        if json {
            return print::json(self);
        }
        // Every word of it may be a stranger's.
        let tell = |line: String| print::answer(print::plain(&line).replace(['\n', '\t'], " "));
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
        for ShownHook { source, event, runs } in &self.hooks {
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

impl ShownHook {
    fn new(hook: &EntrustedHook, top: &Path) -> ShownHook {
        let top = format!("{}/", top.display());
        let source = hook.source.strip_prefix(&top).unwrap_or(&hook.source).to_owned();
        ShownHook { source, event: hook.event, runs: hook.runs.clone() }
    }
}

/// A trusted project in the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    top: String,
    trust: &'static str,
    trusted_at: u64,
}

/// Lists the projects that are trusted, and those that have changed since.
pub(super) fn list(setup: &Setup, json: bool) -> Result<Exit, Failure> {
    let rows = Trust::open(&setup.home)?.list()?;
    let standing = |top: &str, digest: &str| Standing::of(Path::new(top), setup.home.root(), Some(digest)).word();
    let rows: Vec<Row> = rows
        .into_iter()
        .map(|row| Row { trust: standing(&row.top, &row.digest), trusted_at: row.at.0, top: row.top })
        .collect();
    if json {
        print::json(&rows);
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        print::note("no project is trusted");
    }
    let now = SystemClock.now();
    for Row { top, trust, trusted_at } in rows {
        let ago = time::ago(protocol::At(trusted_at), now);
        print::answer(print::plain(&format!("{trust:9} {ago:>8}  {top}")));
    }
    Ok(Exit::Success)
}
