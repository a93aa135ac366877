//! Rules in another program's settings, of the project and the user. Deny and ask rules apply; allow rules do not,
//! since the user did not grant them to Bosun.

use std::path::{Path, PathBuf};

use host::PlainError;
use protocol::clip_middle;
use serde::Deserialize;

use crate::file::{PermissionSettings, SettingsFile};
use crate::layers::SettingsLayer;
use crate::notice::SettingsNotice;
use crate::origin::SettingOrigin;
use crate::permissions::RuleLine;
use crate::read::ConfigError;

/// Maximum length of an error message shown, in bytes.
const MAX_SHOWN_BYTES: usize = 400;

/// Maximum size of such a file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The part of such a file that is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ForeignSettings {
    permissions: ForeignPermissions,
    env: Option<serde_json::Map<String, serde_json::Value>>,
    model: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ForeignPermissions {
    default_mode: Option<serde_json::Value>,
    additional_directories: Vec<serde_json::Value>,
    allow: Vec<serde_json::Value>,
    ask: Vec<serde_json::Value>,
    deny: Vec<serde_json::Value>,
}

/// The layer and notices of such a file.
#[derive(Debug, Default)]
pub(crate) struct ForeignLayer {
    pub(crate) layer: Option<SettingsLayer>,
    pub(crate) notices: Vec<SettingsNotice>,
}

/// Reads a project's file.
pub(crate) fn read_project_file(top: &Path, below: &str) -> Result<ForeignLayer, ConfigError> {
    let path = top.join(below);
    parse_layer(host::read_below(top, Path::new(below), MAX_FILE_BYTES), path.clone(), SettingOrigin::Project(path))
}

/// Reads the user's file.
pub(crate) fn read_user_file(user: &Path) -> Result<ForeignLayer, ConfigError> {
    let path = user.join(".claude/settings.json");
    parse_layer(host::read_plain(&path, MAX_FILE_BYTES), path.clone(), SettingOrigin::User(path))
}

/// Reads such a file. An unusable file stops the run, as Bosun's own would: it may contain deny rules, which must not
/// be lost.
fn parse_layer(
    bytes: Result<Option<Vec<u8>>, PlainError>,
    path: PathBuf,
    origin: SettingOrigin,
) -> Result<ForeignLayer, ConfigError> {
    let invalid = |message: String| ConfigError::Invalid { path: path.clone(), message };
    let bytes = bytes.map_err(|source| ConfigError::Read { path: path.clone(), source })?;
    let Some(bytes) = bytes else { return Ok(ForeignLayer::default()) };
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    if text.trim_ascii().is_empty() {
        return Ok(ForeignLayer::default());
    }
    let settings: ForeignSettings = serde_json::from_slice(text).map_err(|error| {
        invalid(format!("line {}: cannot read its rules, and some may deny something; correct it", error.line()))
    })?;
    let mut notices = settings.notices(&path);
    let ForeignPermissions { allow, ask, deny, .. } = settings.permissions;
    let rules = |name: &str, texts: Vec<serde_json::Value>| -> Result<Vec<RuleLine>, ConfigError> {
        let read = |entry| {
            parse_rule(entry).map_err(|why| invalid(format!("{}permissions.{name}: {why}", line_prefix(text, entry))))
        };
        let rules: Result<Vec<_>, _> = texts.iter().map(read).collect();
        Ok(rules?.into_iter().flatten().collect())
    };
    let permissions =
        PermissionSettings { ask: rules("ask", ask)?, deny: rules("deny", deny)?, ..PermissionSettings::default() };
    if !allow.is_empty() {
        let (count, verb) = (allow.len(), if allow.len() == 1 { "rule is" } else { "rules are" });
        let text = format!("{count} allow {verb} not used; `bosun import claude` shows and copies what can be used");
        notices.push(SettingsNotice::info(&path, text));
    }
    Ok(ForeignLayer {
        layer: Some(SettingsLayer { origin, file: SettingsFile { permissions, ..SettingsFile::default() } }),
        notices,
    })
}

/// Parses an entry of a list. A path that begins with one slash means the project's folder in that program and the root
/// of the file system here, so the rule applies to both.
fn parse_rule(entry: &serde_json::Value) -> Result<Vec<RuleLine>, String> {
    let text = entry.as_str().ok_or("an entry is not a string; correct or remove it")?;
    // The text is untrusted and may be of any length.
    let wrong = |error: policy::RuleError| {
        format!("{}; correct or remove it", clip_middle(&error.to_string(), MAX_SHOWN_BYTES))
    };
    let project_rule = to_project_rule(text).map(|below| RuleLine::parse(&below));
    std::iter::once(RuleLine::parse(text)).chain(project_rule).map(|rule| rule.map_err(wrong)).collect()
}

/// Converts a rule about a path relative to the project's folder (one leading slash) to Bosun's form. Returns `None` for
/// other rules.
pub(crate) fn to_project_rule(text: &str) -> Option<String> {
    let (tool, path) = text.trim().split_once('(')?;
    let below = path.strip_prefix('/').filter(|below| !below.starts_with('/'))?;
    let is_of_files = RuleLine::parse(tool).is_ok_and(|rule| matches!(rule.text(), "read" | "edit"));
    is_of_files.then(|| format!("{tool}(./{below}"))
}

/// The line of an entry as the beginning of a message; empty if it is not found.
fn line_prefix(text: &[u8], entry: &serde_json::Value) -> String {
    let wanted = entry.to_string();
    let lines = String::from_utf8_lossy(text);
    let line = lines.lines().position(|line| line.contains(&wanted));
    line.map(|line| format!("line {}: ", line + 1)).unwrap_or_default()
}

impl ForeignSettings {
    /// Notices about keys that affect the file's own program and are ignored here.
    fn notices(&self, path: &Path) -> Vec<SettingsNotice> {
        let key_if = |key: &str, is_present: bool| is_present.then(|| key.to_owned());
        let keys: Vec<String> = [
            key_if("permissions.defaultMode", self.permissions.default_mode.is_some()),
            key_if("permissions.additionalDirectories", !self.permissions.additional_directories.is_empty()),
            key_if("env", self.env.as_ref().is_some_and(|env| !env.is_empty())),
            key_if("model", self.model.is_some()),
        ]
        .into_iter()
        .flatten()
        .collect();
        let text = || format!("not used: {}; `bosun import claude` shows and copies what can be used", keys.join(", "));
        if keys.is_empty() { Vec::new() } else { vec![SettingsNotice::info(path, text())] }
    }
}
