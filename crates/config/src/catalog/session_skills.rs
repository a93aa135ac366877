//! Finds the skills of a session again while it runs.

use host::Home;
use protocol::api::ReloadSkillsResult;
use protocol::{Refusal, SessionOptions};
use runtime::{FoundSkills, SkillSource};

use super::{DefinitionProblem, RemoteDefinitions, Severity};
use crate::assemble::SettingsSources;
use crate::env::Env;
use crate::layers::SettingsLayers;

/// The places of a session's skills, as they were when it was opened.
#[derive(Debug)]
pub(crate) struct SessionSkillSource {
    pub(crate) home: Home,
    pub(crate) env: Env,
    pub(crate) layers: SettingsLayers,
    pub(crate) options: SessionOptions,
}

impl SessionSkillSource {
    /// The options that say where skills are.
    pub(crate) fn used_options(options: &SessionOptions) -> SessionOptions {
        SessionOptions {
            setting_sources: options.setting_sources.clone(),
            untrusted_definitions: options.untrusted_definitions,
            plugin_dirs: options.plugin_dirs.clone(),
            skill_dirs: options.skill_dirs.clone(),
            ..SessionOptions::default()
        }
    }
}

impl SkillSource for SessionSkillSource {
    fn find(&self) -> Result<FoundSkills, Refusal> {
        let remote = RemoteDefinitions::default();
        let sources = SettingsSources { home: &self.home, env: &self.env, remote: &remote };
        let listing = sources.load_catalog(&self.layers, &self.options)?.listing;
        let is_of_skill = |problem: &&DefinitionProblem| problem.file.ends_with("SKILL.md");
        let mut problems = ReloadSkillsResult::default();
        for problem in listing.problems.iter().filter(is_of_skill) {
            match problem.severity {
                Severity::Error => problems.errors.push(problem.to_string()),
                Severity::Warning | Severity::Untrusted => problems.warnings.push(problem.to_string()),
            }
        }
        let skills = listing.effective_skills().map(|skill| skill.spec.clone()).collect();
        Ok(FoundSkills { skills, problems })
    }
}
