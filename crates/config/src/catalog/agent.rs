//! Agent definitions, built from the keys and the text of a file, a flag or a catalogue.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::{AgentSpec, DefinitionSource, McpServerSpec};

use super::agent_tools::{read_denied_tools, read_tools, spawn_policy};
use super::fields::DefinitionFields;
use super::frontmatter::MarkdownDefinition;
use super::name::{normalize, normalize_or_trim};
use super::node::DocumentNode;
use super::requirements::{budget, effort, isolation, model_preference, models, permission, place, required_servers};
use super::{DefinitionProblem, FilePosition};

/// Supported keys.
const KNOWN_KEYS: [&str; 26] = [
    "name",
    "description",
    "prompt",
    "tools",
    "disallowed-tools",
    "model",
    "models",
    "mcp-servers",
    "skills",
    "hooks",
    "user-invocable",
    "disable-model-invocation",
    "infer",
    "github",
    "reasoning-effort",
    "effort",
    "max-turns",
    "isolation",
    "place",
    "permission-mode",
    "background",
    "background-spawns",
    "budget",
    "spawns",
    "taste",
    "color",
];

/// Keys for people or other programs that do not affect an agent.
const HARMLESS_KEYS: [&str; 24] = [
    "color",
    "colour",
    "icon",
    "emoji",
    "display-name",
    "title",
    "id",
    "version",
    "author",
    "license",
    "metadata",
    "tags",
    "category",
    "target",
    "argument-hint",
    "handoffs",
    "examples",
    "when-to-use",
    "github",
    "mode",
    "model-policy",
    "strict-tools-list",
    "deferred-tool-loading",
    "compatibility",
];

/// Keys of other programs that affect an agent there and are not supported here.
const UNSUPPORTED_KEYS: [&str; 8] = [
    "memory",
    "initial-prompt",
    "include-custom-instructions",
    "omit-claude-md",
    "auto-compact-window",
    "observer",
    "observer-message",
    "agents",
];

/// An agent definition with its hooks and MCP servers as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AgentDraft {
    pub(super) spec: AgentSpec,
    /// The position and the JSON of its `hooks`.
    pub(super) hooks: Option<(Option<FilePosition>, serde_json::Value)>,
    /// The MCP servers that its agents alone use.
    pub(super) mcp_servers: BTreeMap<String, McpServerSpec>,
}

impl AgentDraft {
    /// A definition with nothing else.
    pub(super) fn plain(spec: AgentSpec) -> AgentDraft {
        AgentDraft { spec, hooks: None, mcp_servers: BTreeMap::new() }
    }
}

/// Reads a Markdown definition; the file name is the default name.
pub(super) fn from_markdown(
    file: &Path,
    text: &str,
    source: DefinitionSource,
    problems: &mut Vec<DefinitionProblem>,
) -> Option<AgentDraft> {
    let MarkdownDefinition { frontmatter, body } = MarkdownDefinition::read(file, text, problems)?;
    let stem = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let lower = stem.to_ascii_lowercase();
    let suffix_length = [".agent.md", ".md"].iter().find(|end| lower.ends_with(**end)).map_or(0, |end| end.len());
    let stem = stem.get(..stem.len() - suffix_length).unwrap_or(&stem).to_owned();
    let fields = DefinitionFields::new(file, None, frontmatter, problems)?;
    read_fields(fields, Some(&stem), Some(body), source)
}

/// Reads a definition from keys alone, as in JSON.
pub(super) fn from_keys(
    file: &Path,
    name: Option<&str>,
    node: DocumentNode,
    source: DefinitionSource,
    problems: &mut Vec<DefinitionProblem>,
) -> Option<AgentDraft> {
    let fields = DefinitionFields::new(file, name, node, problems)?;
    read_fields(fields, name, None, source)
}

fn read_fields(
    mut fields: DefinitionFields<'_>,
    default_name: Option<&str>,
    body: Option<&str>,
    source: DefinitionSource,
) -> Option<AgentDraft> {
    let name = name(&mut fields, default_name);
    let description = description(&mut fields);
    let prompt = prompt(&mut fields, body);
    let servers = required_servers(&mut fields);
    let listed = read_tools(&mut fields, &servers.names());
    let agent_types = listed.agent_types.clone();
    let tools = listed.with_servers(&servers.names());
    let mut unsupported = Vec::new();
    let denied = read_denied_tools(&mut fields);
    let hooks = fields.take(&["hooks"]).map(|(at, node)| (at, node.to_json()));
    let at = fields.position("github");
    if fields.take(&["github"]).is_some() {
        fields.warning(at, "`github` is not used by this version", "the agent works without it");
    }
    let isolation = isolation(&mut fields, &mut unsupported);
    let place = place(&mut fields);
    let permission = permission(&mut fields);
    let stated_agents =
        fields.texts(&["spawns"]).map(|names| names.iter().map(|(name, _)| normalize_or_trim(name)).collect());
    let spawns = spawn_policy(tools.as_deref(), &denied, permission, stated_agents.or(agent_types));
    let infer = fields.flag(&["infer"]);
    let disabled = fields.flag(&["disable-model-invocation"]).unwrap_or(false);
    let spec = AgentSpec {
        name: name.unwrap_or_default(),
        description: description.unwrap_or_default(),
        prompt: prompt.unwrap_or_default(),
        tools,
        denied,
        spawns,
        models: models(&mut fields),
        model_preference: model_preference(&mut fields),
        effort: effort(&mut fields),
        max_turns: fields.count(&["max-turns"]),
        permission,
        background: fields.flag(&["background"]).unwrap_or(false),
        background_spawns: fields.flag(&["background-spawns"]).unwrap_or(false),
        budget: budget(&mut fields),
        skills: fields.texts(&["skills"]).unwrap_or_default().iter().map(|(name, _)| normalize_or_trim(name)).collect(),
        hooks: Vec::new(),
        user_invocable: fields.flag(&["user-invocable", "user-invokable"]).unwrap_or(true),
        model_invocable: !disabled && infer.unwrap_or(true),
        isolation,
        place,
        unsupported,
        source,
    };
    fields.finish(&KNOWN_KEYS, &HARMLESS_KEYS, &UNSUPPORTED_KEYS).then_some(AgentDraft {
        spec,
        hooks,
        mcp_servers: servers.own,
    })
}

fn name(fields: &mut DefinitionFields<'_>, default_name: Option<&str>) -> Option<String> {
    let at = fields.position("name");
    let Some(written) = fields.text(&["name"]).or_else(|| default_name.map(str::to_owned)) else {
        fields.error(at, "it has no name", "add `name`");
        return None;
    };
    match normalize(&written) {
        Ok(name) => Some(name),
        Err(why) => {
            let shown: String = written.chars().take(60).collect();
            fields.error(at, format!("`{shown}` is not a name: {why}"), "use letters, digits and dashes in `name`");
            None
        }
    }
}

fn description(fields: &mut DefinitionFields<'_>) -> Option<String> {
    let at = fields.position("description");
    let text = fields.text(&["description"]).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = text.filter(|text| !text.is_empty());
    if text.is_none() {
        fields.error(at, "it has no description", "add `description`: one line on when to use it");
    }
    text
}

fn prompt(fields: &mut DefinitionFields<'_>, body: Option<&str>) -> Option<String> {
    let at = fields.position("prompt");
    let text = match body {
        Some(body) => {
            if fields.take(&["prompt"]).is_some() {
                fields.warning(at, "`prompt` is ignored: the text below the frontmatter is the prompt", "remove it");
            }
            Some(body.to_owned())
        }
        None => fields.text(&["prompt"]),
    };
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if text.is_none() {
        let (message, remedy) = match body {
            Some(_) => ("it has no text below its frontmatter", "write the agent's instructions below the frontmatter"),
            None => ("it has no prompt", "add `prompt`: the agent's instructions"),
        };
        fields.error(at, message, remedy);
    }
    text
}
