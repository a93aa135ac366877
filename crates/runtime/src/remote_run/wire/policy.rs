//! What calls may do.

use std::ffi::OsString;
use std::path::PathBuf;

use policy::{Policy, Rule, RuleError, RuleSource};
use protocol::{PermissionMode, RuleEffect};
use serde::{Deserialize, Serialize};

/// A policy. Paths are system strings, which need not be text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WirePolicy {
    mode: PermissionMode,
    rules: Vec<WireRule>,
    project_dir: OsString,
    work_folders: Vec<OsString>,
    user_home: Option<OsString>,
    control_paths: Vec<OsString>,
    exempt_folders: Vec<OsString>,
    asks_reads: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRule {
    effect: RuleEffect,
    text: String,
    source: WireRuleSource,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WireRuleSource {
    BuiltIn,
    Managed { file: OsString },
    Flag,
    Session,
    Local { file: OsString },
    Project { file: OsString },
    User { file: OsString },
}

impl From<&Policy> for WirePolicy {
    fn from(policy: &Policy) -> WirePolicy {
        let Policy { mode, asks_reads, rules, project_dir, work_folders, user_home, control_paths, exempt_folders } =
            policy;
        let rule = |Rule { effect, text, source, .. }: &Rule| WireRule {
            effect: *effect,
            text: text.clone(),
            source: source.into(),
        };
        WirePolicy {
            mode: *mode,
            rules: rules.iter().map(rule).collect(),
            project_dir: project_dir.clone().into_os_string(),
            work_folders: os_strings(work_folders),
            user_home: user_home.clone().map(PathBuf::into_os_string),
            control_paths: os_strings(control_paths),
            exempt_folders: os_strings(exempt_folders),
            asks_reads: *asks_reads,
        }
    }
}

impl TryFrom<WirePolicy> for Policy {
    type Error = RuleError;

    fn try_from(policy: WirePolicy) -> Result<Policy, RuleError> {
        let WirePolicy { mode, rules, project_dir, work_folders, user_home, control_paths, exempt_folders, asks_reads } =
            policy;
        let rules =
            rules.into_iter().map(|WireRule { effect, text, source }| Rule::parse(effect, &text, source.into()));
        Ok(Policy {
            mode,
            rules: rules.collect::<Result<_, _>>()?,
            project_dir: project_dir.into(),
            work_folders: paths(work_folders),
            user_home: user_home.map(PathBuf::from),
            control_paths: paths(control_paths),
            exempt_folders: paths(exempt_folders),
            asks_reads,
        })
    }
}

impl From<&RuleSource> for WireRuleSource {
    fn from(source: &RuleSource) -> WireRuleSource {
        let os = |path: &PathBuf| path.clone().into_os_string();
        match source {
            RuleSource::BuiltIn => WireRuleSource::BuiltIn,
            RuleSource::Managed(file) => WireRuleSource::Managed { file: os(file) },
            RuleSource::Flag => WireRuleSource::Flag,
            RuleSource::Session => WireRuleSource::Session,
            RuleSource::Local(file) => WireRuleSource::Local { file: os(file) },
            RuleSource::Project(file) => WireRuleSource::Project { file: os(file) },
            RuleSource::User(file) => WireRuleSource::User { file: os(file) },
        }
    }
}

impl From<WireRuleSource> for RuleSource {
    fn from(source: WireRuleSource) -> RuleSource {
        match source {
            WireRuleSource::BuiltIn => RuleSource::BuiltIn,
            WireRuleSource::Managed { file } => RuleSource::Managed(file.into()),
            WireRuleSource::Flag => RuleSource::Flag,
            WireRuleSource::Session => RuleSource::Session,
            WireRuleSource::Local { file } => RuleSource::Local(file.into()),
            WireRuleSource::Project { file } => RuleSource::Project(file.into()),
            WireRuleSource::User { file } => RuleSource::User(file.into()),
        }
    }
}

/// Paths as system strings.
pub(super) fn os_strings(paths: &[PathBuf]) -> Vec<OsString> {
    paths.iter().map(|path| path.clone().into_os_string()).collect()
}

/// The paths again.
pub(super) fn paths(strings: Vec<OsString>) -> Vec<PathBuf> {
    strings.into_iter().map(PathBuf::from).collect()
}
