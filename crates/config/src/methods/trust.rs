//! Which projects the user trusts, and what their files control.

use std::path::Path;

use client::TrustRow;
use host::{Clock, SystemClock};
use protocol::Refusal;
use protocol::api::{ProjectHookView, ProjectTrust, TrustState, TrustedProjectView, TrustedProjects};

use super::error::SettingsMethodError;
use crate::assemble::SettingsSources;
use crate::project::Project;
use crate::trust::{TrustStatus, TrustedContents, TrustedHook};

impl SettingsSources<'_> {
    /// What a project's files control, and whether the user trusts them.
    pub fn project_trust(&self, project: &Project) -> Result<ProjectTrust, SettingsMethodError> {
        let contents = TrustedContents::read(&project.dir, self.home.root())?;
        let has_settings = contents.files.iter().any(|file| file == Path::new(".bosun/config.toml"));
        let settings = if has_settings { project.settings()? } else { Vec::new() };
        let trust = match TrustedContents::has_any(&project.dir, self.home.root()) {
            true => TrustStatus::look_up(self.home, project).view(),
            false => TrustState::NothingToTrust,
        };
        Ok(ProjectTrust {
            top: project.dir.display().to_string(),
            trust,
            settings: settings.into_iter().collect(),
            hooks: contents.hooks.iter().map(|hook| hook_view(hook, &project.dir)).collect(),
            files: contents.files.iter().map(|file| file.display().to_string()).collect(),
            digest: contents.digest,
        })
    }

    /// Trusts a project with the files that the user has reviewed, which have this digest.
    pub fn trust_project(&self, project: &Project, digest: &str) -> Result<ProjectTrust, SettingsMethodError> {
        if self.project_trust(project)?.digest != digest {
            let changed = Refusal::new("the files of the project are not the ones that were reviewed");
            return Err(changed.with_hint("review them again, and use the new digest").into());
        }
        let row = TrustRow { top: project_name(project)?, digest: digest.to_owned(), at: SystemClock.now() };
        client::trust::add(self.home, &row)?;
        self.project_trust(project)
    }

    /// Stops trusting a project; returns whether it was trusted.
    pub fn distrust_project(&self, project: &Project) -> Result<bool, SettingsMethodError> {
        Ok(client::trust::remove(self.home, &project_name(project)?)?)
    }

    /// The trusted projects, and those that have changed since.
    pub fn trusted_projects(&self) -> Result<TrustedProjects, SettingsMethodError> {
        let status = |row: &TrustRow| TrustStatus::check(Path::new(&row.top), self.home.root(), Some(&row.digest));
        let view = |row: TrustRow| TrustedProjectView { trust: status(&row).view(), trusted_at: row.at, top: row.top };
        Ok(TrustedProjects { projects: client::trust::list(self.home)?.into_iter().map(view).collect() })
    }
}

fn hook_view(hook: &TrustedHook, top: &Path) -> ProjectHookView {
    let top = format!("{}/", top.display());
    let source = hook.source.strip_prefix(&top).unwrap_or(&hook.source).to_owned();
    ProjectHookView { source, event: hook.event, runs: hook.action.clone() }
}

fn project_name(project: &Project) -> Result<String, Refusal> {
    let unnamed = || Refusal::new(format!("the name of {} is not UTF-8 text", project.dir.display()));
    project.dir.to_str().map(str::to_owned).ok_or_else(unnamed)
}
