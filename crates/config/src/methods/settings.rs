//! The settings in effect, their files, permission rules, and the spending of today.

use std::path::{Path, PathBuf};

use protocol::api::{
    AddRuleParams, AddRuleResult, SettingView, SettingsFileView, SettingsFormat, SettingsNoticeView, SettingsView,
    TodayUsage, UserSettingsScope,
};
use protocol::{Refusal, SessionOptions, Timestamp};
use runtime::SpentToday;

use super::answer::absolute_folder;
use super::error::SettingsMethodError;
use crate::assemble::SettingsSources;
use crate::config::Config;
use crate::edit::{self, RuleAddition};
use crate::gather::MANAGED_FILE;
use crate::permissions::RuleLine;
use crate::project::{Project, local_file};
use crate::values::SettingValue;

impl SettingsSources<'_> {
    /// The effective settings of a folder, with these options.
    pub fn settings_view(&self, options: &SessionOptions, cwd: &Path) -> Result<SettingsView, SettingsMethodError> {
        let layers = self.layers(options, None, cwd)?;
        let notices = layers
            .notices
            .iter()
            .map(|notice| SettingsNoticeView { path: notice.path.display().to_string(), text: notice.text.clone() });
        let control_paths = self.policy(options, cwd)?.control_paths;
        Ok(SettingsView {
            top: layers.project.dir.display().to_string(),
            trust: layers.trust.view(),
            settings: layers.values().into_iter().map(setting_view).collect(),
            ignored: layers.ignored.clone(),
            out_of_reach: control_paths.iter().map(|path| path.display().to_string()).collect(),
            notices: notices.collect(),
        })
    }

    /// The settings files of a folder, strongest first, whether or not they exist.
    pub fn settings_files(&self, cwd: &Path) -> Vec<SettingsFileView> {
        let (home, project) = (self.home.root(), Project::find(cwd));
        let managed = [Some(PathBuf::from(MANAGED_FILE)), self.env.managed.clone()].into_iter().flatten();
        let claude = |name: &str| project.dir.join(".claude").join(name);
        let toml = |layer, path| (layer, path, SettingsFormat::Toml);
        let mut files: Vec<_> = managed.map(|path| toml("managed", path)).collect();
        files.extend([
            toml("local", local_file(home, &project.dir)),
            toml("project", project.config_file()),
            ("project", claude("settings.local.json"), SettingsFormat::Claude),
            ("project", claude("settings.json"), SettingsFormat::Claude),
            toml("user", home.join("config.toml")),
        ]);
        let user_home = self.env.user_home.iter();
        files.extend(user_home.map(|user| ("user", user.join(".claude/settings.json"), SettingsFormat::Claude)));
        let view = |(layer, path, form): (&str, PathBuf, _)| {
            let exists = path.symlink_metadata().is_ok();
            SettingsFileView { layer: layer.to_owned(), path: path.display().to_string(), exists, form }
        };
        files.into_iter().map(view).collect()
    }

    /// Adds a permission rule to one of the user's files, for the folder's project or for all projects.
    pub fn add_rule(&self, params: AddRuleParams) -> Result<AddRuleResult, SettingsMethodError> {
        let AddRuleParams { cwd, scope, effect, rule } = params;
        let rule = RuleLine::parse(&rule).map_err(Refusal::new)?;
        let path = self.user_file(scope, cwd)?;
        let _lock = self.home.lock("settings")?;
        let added = edit::add_rule(&path, effect, &rule)?;
        Ok(AddRuleResult { path: path.display().to_string(), already_present: added == RuleAddition::AlreadyPresent })
    }

    /// One of the user's settings files: for all projects, or for the project of a folder.
    pub(super) fn user_file(
        &self,
        scope: UserSettingsScope,
        cwd: Option<String>,
    ) -> Result<PathBuf, SettingsMethodError> {
        let home = self.home.root();
        Ok(match scope {
            UserSettingsScope::User => home.join("config.toml"),
            UserSettingsScope::Local => local_file(home, &Project::find(&absolute_folder(cwd)?).dir),
        })
    }

    /// The spending of all sessions today, in UTC, and its limit.
    pub fn usage_today(&self, user: &Config, now: Timestamp) -> Result<TodayUsage, SettingsMethodError> {
        let SpentToday { micros, ends_at } = SpentToday::read(self.home, now)?;
        Ok(TodayUsage { spent_micros: micros, limit_micros: user.day_budget, ends_at })
    }
}

fn setting_view(SettingValue { key, value, origin }: SettingValue) -> SettingView {
    let file = origin.file().map(|file| file.display().to_string());
    SettingView { key, value, file, origin: origin.to_string() }
}
