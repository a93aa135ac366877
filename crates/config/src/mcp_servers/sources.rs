//! Where MCP servers are defined: settings files, the project's file, and options.

use std::path::{Path, PathBuf};

use protocol::{Refusal, SessionOptions};

use super::definition::{McpServerDefinition, McpServerOrigin};
use super::json_file::ServerFile;
use crate::layers::SettingsLayers;
use crate::origin::SettingOrigin;
use crate::read::MAX_SETTINGS_BYTES;
use crate::trust::TrustStatus;

/// The project's file of MCP servers, relative to its top.
pub(super) const PROJECT_FILE: &str = ".mcp.json";

impl SettingsLayers {
    /// The definitions in files, strongest first.
    pub(super) fn file_definitions(&self, problems: &mut Vec<String>) -> Vec<McpServerDefinition> {
        let project = self.project_file(problems);
        let mut definitions = Vec::new();
        let stronger = |origin: &SettingOrigin| origin.rank() <= SettingOrigin::Project(PathBuf::new()).rank();
        let of_layers = |wanted: bool, definitions: &mut Vec<McpServerDefinition>| {
            for layer in self.layers.iter().filter(|layer| stronger(&layer.origin) == wanted) {
                let servers = layer.file.mcp.servers.iter();
                definitions.extend(servers.map(|(name, spec)| McpServerDefinition {
                    name: name.clone(),
                    spec: spec.clone(),
                    origin: McpServerOrigin::Settings(layer.origin.clone()),
                }));
            }
        };
        of_layers(true, &mut definitions);
        definitions.extend(project);
        of_layers(false, &mut definitions);
        definitions
    }

    /// The definitions in the project's file. They are programs, so they count only if the project is trusted.
    fn project_file(&self, problems: &mut Vec<String>) -> Vec<McpServerDefinition> {
        let path = self.project.dir.join(PROJECT_FILE);
        if !self.reads_project_files || path.symlink_metadata().is_err() {
            return Vec::new();
        }
        let why = match self.trust {
            TrustStatus::Trusted => None,
            TrustStatus::Changed => Some("the project has changed since you trusted it"),
            TrustStatus::Untrusted => Some("you have not trusted the project"),
        };
        if let Some(why) = why {
            problems.push(format!("{}: ignored, since {why}; `bosun trust` shows more", path.display()));
            return Vec::new();
        }
        let text = match host::read_below(&self.project.dir, Path::new(PROJECT_FILE), MAX_SETTINGS_BYTES) {
            Ok(bytes) => String::from_utf8(bytes.unwrap_or_default()).map_err(|_| "it is not UTF-8 text".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match text.and_then(|text| ServerFile::parse(&text)) {
            Ok(file) => {
                let origin = McpServerOrigin::Settings(SettingOrigin::Project(path.clone()));
                definitions_of(file, &path.display().to_string(), &origin, problems)
            }
            Err(why) => {
                problems.push(format!("{}: {why}", path.display()));
                Vec::new()
            }
        }
    }
}

/// The definitions in options.
pub(super) fn option_definitions(
    options: &SessionOptions,
    cwd: &Path,
    problems: &mut Vec<String>,
) -> Result<Vec<McpServerDefinition>, Refusal> {
    let origin = McpServerOrigin::Settings(SettingOrigin::Flag);
    let typed = options.mcp_servers.iter().map(|(name, spec)| McpServerDefinition {
        name: name.clone(),
        spec: spec.clone(),
        origin: origin.clone(),
    });
    let mut definitions: Vec<McpServerDefinition> = typed.collect();
    // Of several sources, the last one that defines a name counts.
    for source in options.mcp_sources.iter().rev() {
        let (place, text) = match source.trim_start().starts_with('{') {
            true => ("--mcp-config".to_owned(), source.clone()),
            false => (source.clone(), read_source(&cwd.join(source))?),
        };
        let file = ServerFile::parse(&text).map_err(|why| Refusal::new(format!("{place}: {why}")))?;
        definitions.extend(definitions_of(file, &place, &origin, problems));
    }
    Ok(definitions)
}

fn read_source(path: &Path) -> Result<String, Refusal> {
    let failed = |why: String| Refusal::new(format!("--mcp-config: {}: {why}", path.display()));
    match host::read_plain(path, MAX_SETTINGS_BYTES) {
        Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".into())),
        Ok(None) => Err(failed("there is no such file".into())),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn definitions_of(
    file: ServerFile,
    place: &str,
    origin: &McpServerOrigin,
    problems: &mut Vec<String>,
) -> Vec<McpServerDefinition> {
    if !file.unused_keys.is_empty() {
        problems.push(format!("{place}: these keys have no effect: {}", file.unused_keys.join(", ")));
    }
    let servers = file.servers.into_iter();
    servers.map(|(name, spec)| McpServerDefinition { name, spec, origin: origin.clone() }).collect()
}
