//! Plugins: folders that bring agents, skills, hooks and commands.

use std::path::{Component, Path, PathBuf};

use protocol::DefinitionSource;

use super::DefinitionProblem;
use super::fields::DefinitionFields;
use super::node::{DocumentNode, JsonNode, NodeValue};
use super::walk::{DefinitionWalk, LinkPolicy};

/// Paths of a plugin's manifest.
const MANIFESTS: [&str; 3] = ["plugin.json", ".claude-plugin/plugin.json", ".github/plugin/plugin.json"];

const KNOWN_KEYS: [&str; 8] =
    ["name", "version", "description", "agents", "skills", "hooks", "commands", "mcp-servers"];

const HARMLESS_KEYS: [&str; 10] = [
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "category",
    "tags",
    "display-name",
    "$schema",
    "dependencies",
];

const UNSUPPORTED_KEYS: [&str; 6] = ["lsp-servers", "output-styles", "extensions", "themes", "monitors", "user-config"];

/// A plugin that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its version, if stated.
    pub version: Option<String>,
    /// Its description, if stated.
    pub description: Option<String>,
    /// Its folder.
    pub folder: PathBuf,
}

/// A plugin and the paths of its contents.
#[derive(Debug)]
pub(super) struct PluginContents {
    pub(super) plugin: Plugin,
    pub(super) agents: Vec<PathBuf>,
    pub(super) skills: Vec<PathBuf>,
    pub(super) commands: Vec<PathBuf>,
    pub(super) hooks: Vec<PathBuf>,
    /// Hooks written in the manifest itself.
    pub(super) inline_hooks: Option<(PathBuf, serde_json::Value)>,
    /// Files that define MCP servers.
    pub(super) mcp_files: Vec<PathBuf>,
    /// MCP servers written in the manifest itself.
    pub(super) inline_mcp: Option<(PathBuf, serde_json::Value)>,
}

impl Plugin {
    /// The source of a definition of this plugin.
    pub(super) fn source(&self, file: &Path) -> DefinitionSource {
        DefinitionSource::Plugin { plugin: self.name.clone(), path: file.display().to_string() }
    }
}

impl PluginContents {
    /// Reads a plugin's manifest.
    pub(super) fn read(folder: &Path, problems: &mut Vec<DefinitionProblem>) -> Option<PluginContents> {
        let Ok(folder) = folder.canonicalize() else {
            problems.push(DefinitionProblem::error(folder, "it cannot be entered", "make the folder readable"));
            return None;
        };
        let Some(manifest) = MANIFESTS.iter().map(|name| folder.join(name)).find(|path| path.is_file()) else {
            let remedy = "add plugin.json with a `name`, or name the folder that has it";
            problems.push(DefinitionProblem::error(&folder, "it has no plugin.json, so it is not a plugin", remedy));
            return None;
        };
        let walk = DefinitionWalk { boundary: &folder, folder: &folder, links: LinkPolicy::Refused };
        let text = walk.read(&manifest, problems)?;
        let node = match serde_json::from_str(&text) {
            Ok(JsonNode(node)) => node,
            Err(error) => {
                let at = super::FilePosition { line: error.line() as u64, column: error.column().max(1) as u64 };
                let message = format!("it is not JSON: {error}");
                let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text).to_owned();
                problems.push(DefinitionProblem::error(&manifest, message, "correct the line").at(Some(at)));
                return None;
            }
        };
        let mut fields = DefinitionFields::new(&manifest, None, node, problems)?;
        let name = fields.text(&["name"]).filter(|name| !name.trim().is_empty());
        if name.is_none() {
            fields.error(None, "it has no name", "add `name`");
        }
        let mut contents = PluginContents {
            plugin: Plugin {
                name: name.unwrap_or_default(),
                version: fields.text(&["version"]),
                description: fields.text(&["description"]),
                folder: folder.clone(),
            },
            agents: paths(&mut fields, &folder, "agents", "agents"),
            skills: paths(&mut fields, &folder, "skills", "skills"),
            commands: paths(&mut fields, &folder, "commands", "commands"),
            hooks: Vec::new(),
            inline_hooks: None,
            mcp_files: Vec::new(),
            inline_mcp: None,
        };
        match fields.take(&["hooks"]) {
            Some((_, node)) if matches!(node.value, NodeValue::Table(_)) => {
                contents.inline_hooks = Some((manifest.clone(), node.to_json()));
            }
            Some((_, node)) => contents.hooks = listed_paths(&mut fields, &folder, "hooks", node),
            None => contents.hooks = default_path(&folder, "hooks/hooks.json"),
        }
        match fields.take(&["mcp-servers"]) {
            Some((_, node)) if matches!(node.value, NodeValue::Table(_)) => {
                contents.inline_mcp = Some((manifest.clone(), node.to_json()));
            }
            Some((_, node)) => contents.mcp_files = listed_paths(&mut fields, &folder, "mcp-servers", node),
            None => contents.mcp_files = default_path(&folder, ".mcp.json"),
        }
        fields.finish(&KNOWN_KEYS, &HARMLESS_KEYS, &UNSUPPORTED_KEYS).then_some(contents)
    }
}

/// The paths that a key names, or the default path if it exists.
fn paths(fields: &mut DefinitionFields<'_>, folder: &Path, key: &str, fallback: &str) -> Vec<PathBuf> {
    match fields.take(&[key]) {
        Some((_, node)) => listed_paths(fields, folder, key, node),
        None => default_path(folder, fallback),
    }
}

fn default_path(folder: &Path, below: &str) -> Vec<PathBuf> {
    let path = folder.join(below);
    Vec::from_iter(path.exists().then_some(path))
}

fn listed_paths(fields: &mut DefinitionFields<'_>, folder: &Path, key: &str, node: DocumentNode) -> Vec<PathBuf> {
    let nodes = match node.value {
        NodeValue::List(list) => list,
        value => vec![DocumentNode { value, ..node }],
    };
    let mut paths = Vec::new();
    for node in nodes {
        let NodeValue::Text(text) = &node.value else {
            fields.error(None, format!("`{key}` holds {}", node.value.kind()), "write a path, or a list of paths");
            continue;
        };
        match path_inside(folder, text) {
            Some(path) if path.exists() => paths.push(path),
            Some(_) => fields.error(None, format!("`{key}` names `{text}`, which does not exist"), "correct the path"),
            None => {
                let message = format!("`{key}` names `{text}`, which is outside the plugin's folder");
                fields.error(None, message, "keep all files of a plugin inside its folder");
            }
        }
    }
    paths
}

/// A path below the plugin's folder; `None` if its text or a link leads outside.
fn path_inside(folder: &Path, text: &str) -> Option<PathBuf> {
    let roots = ["${CLAUDE_PLUGIN_ROOT}/", "${PLUGIN_ROOT}/"];
    let text = roots.iter().find_map(|root| text.strip_prefix(root)).unwrap_or(text);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(text).components().all(plain) || text.starts_with('~') {
        return None;
    }
    let path: PathBuf = folder.join(text).components().collect();
    match path.canonicalize() {
        Ok(real) => real.starts_with(folder).then_some(path),
        Err(_absent) => Some(path),
    }
}
