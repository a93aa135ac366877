//! Reads a whole file: its events, and the entries of each.

use std::path::PathBuf;

use protocol::{HookDialect, HookEvent, HookSpec};
use serde_json::{Map, Value};

use super::entry;
use super::file_reader::{HookFileReader, value_kind};
use super::position::JsonPositions;
use crate::event::EventNameMatch;
use crate::{HookProblem, TextPosition};

/// Where a hook file is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookFileLocation {
    /// In a folder of the user, the project or the machine.
    #[default]
    Folder,
    /// In a plugin.
    Plugin {
        /// The plugin's own folder.
        root: PathBuf,
    },
}

/// Fields of a file with nothing but hooks.
const FILE_FIELDS: [&str; 3] = ["hooks", "version", "disableAllHooks"];

/// Reads a hook file, or the hooks of a settings file.
pub fn read(text: &str, file: &str, location: &HookFileLocation) -> (Vec<HookSpec>, Vec<HookProblem>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str::<Value>(text) {
        Ok(value) => read_hooks(&value, file, location, JsonPositions::of(text)),
        Err(error) => {
            let at = Some(TextPosition { line: error.line().max(1), column: error.column().max(1) });
            let message = format!("it is not JSON: {}", without_position(&error));
            let remedy = "none of its hooks run until this is fixed".into();
            (Vec::new(), vec![HookProblem { file: file.to_owned(), position: at, message, remedy }])
        }
    }
}

/// Reads hooks inside something else: an agent's frontmatter, a plugin's manifest.
pub fn read_value(value: &Value, file: &str, location: &HookFileLocation) -> (Vec<HookSpec>, Vec<HookProblem>) {
    read_hooks(value, file, location, JsonPositions::default())
}

/// Whether a file disables all hooks, including those of other files.
pub fn disables_all(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("disableAllHooks") == Some(&Value::Bool(true)))
}

fn read_hooks(
    value: &Value,
    file: &str,
    location: &HookFileLocation,
    positions: JsonPositions,
) -> (Vec<HookSpec>, Vec<HookProblem>) {
    let plugin = match location {
        HookFileLocation::Folder => None,
        HookFileLocation::Plugin { root } => Some(root.clone()),
    };
    let mut reader = HookFileReader { file, plugin, positions, hooks: Vec::new(), problems: Vec::new() };
    for path in reader.positions.repeated() {
        if path.starts_with("/hooks") || value.get("hooks").is_none() {
            let message = format!("`{}` appears twice, and only the last one is used", path.trim_start_matches('/'));
            reader.report_problem(&path, message, "merge them");
        }
    }
    reader.read_document(value);
    reader.problems.sort_by_key(|problem| problem.position);
    (reader.hooks, reader.problems)
}

/// A JSON error without its position, which is reported separately.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(message, _)| message.to_owned())
}

impl HookFileReader<'_> {
    fn read_document(&mut self, value: &Value) {
        let Value::Object(fields) = value else {
            let message = format!("it contains {}, not an object", value_kind(value));
            return self.report_problem("", message, "write {\"version\": 1, \"hooks\": {…}}");
        };
        match fields.get("disableAllHooks") {
            Some(Value::Bool(true)) => {
                let remedy = "remove `disableAllHooks` to let hooks run";
                return self.report_problem("/disableAllHooks", "it disables all hooks", remedy);
            }
            Some(Value::Bool(false)) | None => {}
            Some(other) => {
                let message = format!("`disableAllHooks` is {}", value_kind(other));
                self.report_problem("/disableAllHooks", message, "write true or false");
            }
        }
        match fields.get("version") {
            Some(version) if fields.contains_key("hooks") && version.is_number() && *version != 1 => {
                let message = format!("it has version {version}, but only version 1 is supported");
                return self.report_problem("/version", message, "write it as version 1");
            }
            Some(_) | None => {}
        }
        match fields.get("hooks") {
            Some(Value::Object(events)) => self.read_events("/hooks", events),
            Some(other) => {
                let message = format!("`hooks` is {}, not an object", value_kind(other));
                self.report_problem("/hooks", message, "write {\"preToolUse\": [{…}]}, with events by their names");
            }
            // Without the field, the whole file is the value of `hooks`.
            None if fields.keys().any(|name| !matches!(EventNameMatch::resolve(name), EventNameMatch::Unknown(_))) => {
                self.read_events("", fields)
            }
            None if fields.keys().all(|name| FILE_FIELDS.contains(&name.as_str())) => {}
            None => self.report_misnamed(fields),
        }
    }

    /// Reports that a settings file has no hooks only if it seems meant to have some.
    fn report_misnamed(&mut self, fields: &Map<String, Value>) {
        let is_similar = |(name, value): &(&String, &Value)| match value {
            Value::Object(_) => strsim::jaro_winkler(&name.to_ascii_lowercase(), "hooks") > 0.9,
            Value::Array(_) => matches!(EventNameMatch::resolve(name), EventNameMatch::Unknown(Some(_))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        let similar = fields.iter().find(is_similar).map(|(name, _)| name);
        if let Some(name) = similar {
            let message = format!("`{name}` is ignored");
            self.report_problem(&format!("/{name}"), message, "put hooks into an object named `hooks`");
        }
    }

    fn read_events(&mut self, path: &str, events: &Map<String, Value>) {
        for (name, entries) in events {
            let path = format!("{path}/{name}");
            match EventNameMatch::resolve(name) {
                EventNameMatch::Event(event, dialect) => self.read_entries(&path, event, dialect, entries),
                EventNameMatch::Unsupported => {
                    let message = format!("hooks on `{name}` are not supported in this version");
                    self.report_problem(&path, message, "remove them, or keep them for another program");
                }
                EventNameMatch::Unknown(Some(meant)) => {
                    self.report_problem(
                        &path,
                        format!("there is no event `{name}`"),
                        format!("did you mean `{meant}`?"),
                    );
                }
                // Other fields next to events, in something that is not only hooks.
                EventNameMatch::Unknown(None)
                    if !entries.is_array()
                        && ["version", "description", "disableAllHooks"].contains(&name.as_str()) => {}
                EventNameMatch::Unknown(None) => {
                    let remedy = "see docs/hooks.md for the events";
                    self.report_problem(&path, format!("there is no event `{name}`"), remedy);
                }
            }
        }
    }

    fn read_entries(&mut self, path: &str, event: HookEvent, dialect: HookDialect, entries: &Value) {
        let Value::Array(entries) = entries else {
            let message = format!("the hooks on an event are {}, not a list", value_kind(entries));
            return self.report_problem(path, message, "write [{…}]");
        };
        for (index, entry) in entries.iter().enumerate() {
            self.read_entry(&format!("{path}/{index}"), entry::EntryContext { event, dialect, matcher: None }, entry);
        }
    }
}
