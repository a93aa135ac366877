//! API types for the skills of a session.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DefinitionSource, SkillSpec};

/// A skill of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillView {
    /// The name it is loaded by.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The file that holds it.
    pub file: String,
    /// Where it is defined.
    pub source: DefinitionSource,
    /// Whether a person may name it.
    pub user_invocable: bool,
    /// Whether a model may load it.
    pub model_invocable: bool,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Tools that it says it needs; they grant no permission.
    pub allowed_tools: Vec<String>,
}

impl SkillView {
    /// A skill as clients see it.
    pub fn new(skill: SkillSpec, enabled: bool) -> SkillView {
        let SkillSpec { name, description, file, model_invocable, user_invocable, allowed_tools, source } = skill;
        SkillView { name, description, file, source, user_invocable, model_invocable, enabled, allowed_tools }
    }
}

/// The skills of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkillsResult {
    /// The skills, including those that are switched off.
    pub skills: Vec<SkillView>,
}

/// Where to look for skills.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FindSkillsParams {
    /// The folder of the session, as an absolute path; that of the process that answers when absent.
    pub cwd: Option<String>,
    /// Further folders with skills.
    pub skill_dirs: Vec<PathBuf>,
}

/// A skill to switch on or off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToggleSkillParams {
    /// Its name.
    pub name: String,
    /// Whether agents have it.
    pub enabled: bool,
}

/// What was found when skills were read again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReloadSkillsResult {
    /// Why files were ignored.
    pub errors: Vec<String>,
    /// What is odd about skills that are used.
    pub warnings: Vec<String>,
}
