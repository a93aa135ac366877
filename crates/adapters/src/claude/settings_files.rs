//! The settings of Claude Code that are options of a session: those of the command line, and those of its settings files
//! in the project and in the user's folder.

use std::path::{Path, PathBuf};

use hooks::HookFileLocation;
use protocol::{HookSpec, SettingsFileScope, clip_middle};
use serde_json::Value;
use server::{OpenRefusal, SessionOpener};

use super::args::{ClaudeArgs, MAX_NAME_BYTES};
use super::open_request::{read_settings, refusal};
use super::session_options::parse_sources;
use crate::managed;

/// Maximum bytes of a settings file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Keys of `--settings` that are served.
const SERVED_KEYS: [&str; 6] = ["$schema", "hooks", "model", "outputStyle", "permissions", "sandbox"];

/// Keys of `permissions` in `--settings` that are served.
const SERVED_PERMISSIONS: [&str; 7] = [
    "additionalDirectories",
    "allow",
    "ask",
    "defaultMode",
    "deny",
    "denyInsteadOfPrompting",
    "disableBypassPermissionsMode",
];

/// Keys of `permissions` that restrict calls in a way that is not supported.
const REFUSED_PERMISSIONS: [&str; 2] = ["blockReadsOutsideWorkingDirectories", "blockWritesOutsideWorkingDirectories"];

/// The settings of a client.
#[derive(Debug, Clone, Default)]
pub(super) struct ClaudeSettings {
    /// Those of `--settings`.
    pub(super) flag: Value,
    /// Those of the user's folder, if Bosun does not read that folder itself.
    pub(super) user: Value,
    /// The output style, of the strongest settings that name one.
    pub(super) output_style: Option<String>,
    /// The folders with output styles, strongest first.
    pub(super) style_folders: Vec<PathBuf>,
}

impl ClaudeSettings {
    /// Reads the settings of a client.
    pub(super) fn read(args: &ClaudeArgs, opener: &dyn SessionOpener) -> Result<ClaudeSettings, OpenRefusal> {
        let flag = args.settings.as_deref().map(|text| read_settings(text, "settings")).transpose()?;
        let flag = flag.unwrap_or_default();
        let scopes = match args.setting_sources.as_deref() {
            Some(sources) => parse_sources(sources)?,
            None => SettingsFileScope::ALL.to_vec(),
        };
        let has = |scope: SettingsFileScope| scopes.contains(&scope);
        let project = std::env::current_dir()
            .map_err(|error| refusal(format!("cannot find the working folder: {error}"), ""))?
            .join(".claude");
        let user = UserFolder::find(opener).filter(|_| has(SettingsFileScope::User));
        let local = has(SettingsFileScope::Local).then(|| style_below(&project, "settings.local.json")).flatten();
        let shared = has(SettingsFileScope::Project).then(|| style_below(&project, "settings.json")).flatten();
        let users = user.as_ref().map(UserFolder::read).transpose()?.unwrap_or_default();
        let style = style_of(&flag).or(local).or(shared).or_else(|| style_of(&users));
        let projects_folder = has(SettingsFileScope::Project).then_some(project);
        let folders = projects_folder.into_iter().chain(user.iter().map(|user| user.path.clone()));
        Ok(ClaudeSettings {
            flag,
            output_style: style,
            style_folders: folders.map(|folder| folder.join("output-styles")).collect(),
            user: if user.is_some_and(|user| user.is_moved) { users } else { Value::Null },
        })
    }

    /// Refuses settings of `--settings` that would restrict what calls may do, and that are not supported.
    pub(super) fn expect_supported(&self) -> Result<(), OpenRefusal> {
        self.hooks()?;
        let permissions = &self.flag["permissions"];
        match REFUSED_PERMISSIONS.into_iter().find(|key| managed::has_effect(&permissions[*key])) {
            Some(key) => Err(refusal(format!("the setting `permissions.{key}` is not supported"), "use deny rules")),
            None => Ok(()),
        }
    }

    /// The hooks of `--settings`. One that cannot be used refuses the session: it may be there to deny something.
    pub(super) fn hooks(&self) -> Result<Vec<HookSpec>, OpenRefusal> {
        let hooks = &self.flag["hooks"];
        if !managed::has_effect(hooks) {
            return Ok(Vec::new());
        }
        let file = serde_json::json!({ "hooks": hooks });
        let (specs, problems) = hooks::read_value(&file, "the client's settings", &HookFileLocation::Folder);
        match problems.first() {
            None => Ok(specs),
            Some(problem) => Err(refusal(format!("hooks in --settings: {}", problem.message), &problem.remedy)),
        }
    }

    /// Whether calls that need a decision are denied, whatever the client would decide.
    pub(super) fn denies_instead_of_asking(&self) -> bool {
        self.flag["permissions"]["denyInsteadOfPrompting"] == true
    }

    /// Whether `--settings` forbids the mode that allows every call.
    pub(super) fn forbids_bypass(&self) -> bool {
        managed::has_effect(&self.flag["permissions"]["disableBypassPermissionsMode"])
    }

    /// The names of the settings of `--settings` that have no effect.
    pub(super) fn without_effect(&self) -> Vec<String> {
        let unserved = |settings: &Value, served: &[&str], prefix: &str| -> Vec<String> {
            let keys = settings.as_object().into_iter().flatten();
            let unserved = keys.filter(|(key, value)| !served.contains(&key.as_str()) && managed::has_effect(value));
            unserved.map(|(key, _)| format!("the setting `{prefix}{}`", clip_middle(key, MAX_NAME_BYTES))).collect()
        };
        let mut names = unserved(&self.flag, &SERVED_KEYS, "");
        names.extend(unserved(&self.flag["permissions"], &SERVED_PERMISSIONS, "permissions."));
        names
    }
}

/// The folder of Claude Code in the user's home.
struct UserFolder {
    path: PathBuf,
    /// Whether it is another one than Bosun reads rules from.
    is_moved: bool,
}

impl UserFolder {
    fn find(opener: &dyn SessionOpener) -> Option<UserFolder> {
        let usual = opener.variable("HOME").map(|home| PathBuf::from(home).join(".claude"));
        match opener.variable("CLAUDE_CONFIG_DIR").map(PathBuf::from) {
            Some(path) => Some(UserFolder { is_moved: usual.as_ref() != Some(&path), path }),
            None => usual.map(|path| UserFolder { path, is_moved: false }),
        }
    }

    /// Its settings. A file that cannot be read is an error: it may deny something.
    fn read(&self) -> Result<Value, OpenRefusal> {
        let path = self.path.join("settings.json");
        let unreadable =
            |why: String| refusal(format!("cannot read {}: {why}", path.display()), "correct or remove it");
        match host::read_plain(&path, MAX_FILE_BYTES) {
            Ok(None) => Ok(Value::Null),
            Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => Ok(Value::Null),
            Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string())),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }
}

/// The output style in a settings file of the project. Bosun reads these files for their rules, and reports what is wrong
/// with them.
fn style_below(folder: &Path, name: &str) -> Option<String> {
    let bytes = host::read_below(folder, Path::new(name), MAX_FILE_BYTES).ok()??;
    style_of(&serde_json::from_slice(&bytes).ok()?)
}

fn style_of(settings: &Value) -> Option<String> {
    settings["outputStyle"].as_str().filter(|name| !name.trim().is_empty()).map(|name| name.trim().to_owned())
}
