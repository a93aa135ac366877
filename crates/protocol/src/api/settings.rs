//! API types for settings, permission rules, trust, and the import of another product's settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{HookEvent, RuleEffect, Timestamp};

/// The folder that settings apply to, as an absolute path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SettingsParams {
    /// The folder; that of the process that answers when absent.
    pub cwd: Option<String>,
}

/// Whether the user trusts a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrustState {
    /// The user trusts it with its current files.
    Trusted,
    /// The user trusted it, and its files have changed since.
    Changed,
    /// The user does not trust it.
    Untrusted,
    /// It has no files that control Bosun.
    #[serde(rename = "nothing to trust")]
    NothingToTrust,
    /// A state from a newer version.
    #[serde(other)]
    Unknown,
}

impl TrustState {
    /// The state as people read it.
    pub fn as_str(self) -> &'static str {
        match self {
            TrustState::Trusted => "trusted",
            TrustState::Changed => "changed",
            TrustState::Untrusted => "untrusted",
            TrustState::NothingToTrust => "nothing to trust",
            TrustState::Unknown => "unknown",
        }
    }
}

/// The effective settings of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsView {
    /// The project's topmost folder.
    pub top: String,
    /// Whether the user trusts the project.
    pub trust: TrustState,
    /// The settings, by key.
    pub settings: Vec<SettingView>,
    /// Keys of the project's settings file that are ignored, since the project is not trusted.
    pub ignored: Vec<String>,
    /// Paths that no tool may access, even if a rule allows it.
    pub out_of_reach: Vec<String>,
    /// What the user should know about the files.
    pub notices: Vec<SettingsNoticeView>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingView {
    /// Its key, such as `limits.live`.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where it was set.
    pub origin: String,
    /// The file in which it was set, if it was a file.
    pub file: Option<String>,
}

/// A notice about a settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsNoticeView {
    /// The file.
    pub path: String,
    /// The message.
    pub text: String,
}

/// The settings files of a folder, strongest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsFiles {
    /// The files.
    pub files: Vec<SettingsFileView>,
}

/// A settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingsFileView {
    /// Its layer: `managed`, `local`, `project` or `user`.
    pub layer: String,
    /// The file.
    pub path: String,
    /// Whether it exists.
    pub exists: bool,
    /// Its format.
    pub form: SettingsFormat,
}

/// The format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingsFormat {
    /// Bosun's own format.
    Toml,
    /// Claude Code's format, of which only the rules are used.
    Claude,
}

/// A permission rule for the user's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddRuleParams {
    /// A folder of the project, as an absolute path; that of the process that answers when absent.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Where it applies.
    #[serde(default)]
    pub scope: UserSettingsScope,
    /// What it does with the calls that it matches.
    pub effect: RuleEffect,
    /// The rule, such as `shell(git *)`.
    pub rule: String,
}

/// A settings file of the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UserSettingsScope {
    /// The user's file for this project.
    #[default]
    Local,
    /// The user's file for all projects.
    User,
}

/// Where a rule is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddRuleResult {
    /// The file.
    pub path: String,
    /// Whether it was there already.
    pub already_present: bool,
}

/// A call to explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainParams {
    /// The folder that the call would be made in, as an absolute path; that of the process that answers when absent.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The call, such as `shell(git push)`; or a tool, and its argument in `argument`.
    pub call: String,
    /// The argument.
    #[serde(default)]
    pub argument: Option<String>,
}

/// Whether a call would be allowed, asked about or denied, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplanationView {
    /// The tool.
    pub tool: String,
    /// What would happen to the call.
    pub verdict: VerdictView,
    /// Every part of the call, in order.
    pub parts: Vec<VerdictView>,
}

/// What would happen to a call or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictView {
    /// The part.
    pub part: String,
    /// What would happen.
    pub effect: RuleEffect,
    /// The kind of basis for the decision.
    pub ground: String,
    /// The rule that decides, if one does.
    pub rule: Option<DecidingRuleView>,
    /// Why.
    pub reason: String,
    /// What would change it.
    pub remedy: String,
    /// A rule that would allow this and similar calls.
    pub suggestion: Option<String>,
}

/// A rule that decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecidingRuleView {
    /// What it does.
    pub effect: RuleEffect,
    /// The rule.
    pub rule: String,
    /// Where it comes from.
    pub source: String,
}

/// What a project's files control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectTrust {
    /// The project's topmost folder.
    pub top: String,
    /// Whether the user trusts it.
    pub trust: TrustState,
    /// The settings in its file.
    pub settings: Map<String, Value>,
    /// The commands of its hooks.
    pub hooks: Vec<ProjectHookView>,
    /// All files that configure Bosun, including those that only later versions will read.
    pub files: Vec<String>,
    /// What its files contain now, for `trust.add`.
    pub digest: String,
}

/// A hook that would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectHookView {
    /// The file that has it.
    pub source: String,
    /// When it runs.
    pub event: HookEvent,
    /// What it runs.
    pub runs: String,
}

/// A project to trust with its current files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddTrustParams {
    /// A folder of the project, as an absolute path.
    pub cwd: String,
    /// What the user has reviewed, from `trust.get`: files that have changed since are not trusted.
    pub digest: String,
}

/// Whether trust was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoveTrustResult {
    /// Whether the project was trusted.
    pub was_trusted: bool,
}

/// The projects that the user trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedProjects {
    /// The projects, by name.
    pub projects: Vec<TrustedProjectView>,
}

/// A trusted project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedProjectView {
    /// The project's topmost folder.
    pub top: String,
    /// Whether its files have changed since.
    pub trust: TrustState,
    /// When the user trusted it.
    pub trusted_at: Timestamp,
}

/// What to import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportSettingsParams {
    /// A folder of the project, as an absolute path; that of the process that answers when absent.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The product.
    pub product: ImportedProduct,
    /// Whether to write the changes.
    #[serde(default)]
    pub write: bool,
}

/// A product whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ImportedProduct {
    /// Claude Code.
    Claude,
    /// GitHub Copilot CLI.
    Copilot,
    /// Codex CLI.
    Codex,
}

/// What the files of a product become in Bosun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportSettingsResult {
    /// The findings, by file.
    pub findings: Vec<ImportFindingView>,
    /// Whether the changes were written.
    pub written: bool,
    /// Changes that could not be written.
    pub errors: Vec<String>,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFindingView {
    /// The file.
    pub file: String,
    /// What it says.
    pub found: String,
    /// The outcome of its import, in one word.
    pub outcome: String,
    /// The text that is or would be written.
    pub becomes: Option<String>,
    /// The file that it is written to.
    pub into: Option<String>,
    /// The value that is kept, the condition under which the file is read in place, or why it is not imported.
    pub reason: Option<String>,
}
