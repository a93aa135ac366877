//! Slash commands from files. A command's name is its plugin or folder, then its file name. Only the frontmatter is
//! read here, and many files have none.

use std::path::Path;

use protocol::{DefinitionSource, FrontMatter, SlashSpec};

use super::DefinitionProblem;
use super::fields::DefinitionFields;
use super::frontmatter::MarkdownDefinition;
use super::kinds::is_markdown_definition;
use super::name::normalize;
use super::node::{DocumentNode, NodeValue};

const KNOWN_KEYS: [&str; 7] =
    ["name", "description", "argument-hint", "allowed-tools", "agent", "mode", "disable-model-invocation"];

/// Keys that are for people or for other programs.
const HARMLESS_KEYS: [&str; 9] =
    ["title", "version", "author", "license", "metadata", "tags", "category", "arguments", "user-invocable"];

/// Keys of other programs that affect a command there and are not supported here.
const UNSUPPORTED_KEYS: [&str; 6] = ["model", "tools", "context", "effort", "hooks", "shell"];

/// Maximum length of a description taken from the text, in characters.
const MAX_DERIVED_DESCRIPTION: usize = 100;

/// How the files of a folder are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandFileNaming {
    /// `NAME.md`.
    Plain,
    /// `NAME.prompt.md`; other `.md` files are not commands.
    Prompt,
}

impl CommandFileNaming {
    /// Whether a file is a command. A README, for example, is not.
    pub(super) fn is_command(self, file: &Path) -> bool {
        let ends = |end: &str| file.to_string_lossy().to_ascii_lowercase().ends_with(end);
        is_markdown_definition(file) && (self == CommandFileNaming::Plain || ends(".prompt.md"))
    }
}

/// The location of a command's file, which determines its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandFile<'a> {
    pub(super) file: &'a Path,
    /// The folder of commands that it was found in.
    pub(super) folder: &'a Path,
    /// The plugin that contains it.
    pub(super) plugin: Option<&'a str>,
}

impl CommandFile<'_> {
    /// The name derived from the file's location, or why it is not valid.
    pub(super) fn default_name(self) -> Result<String, &'static str> {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        self.full_name(stem.strip_suffix(".prompt").unwrap_or(&stem))
    }

    /// Prefixes a name with the plugin and the folders below the command folder.
    fn full_name(self, own: &str) -> Result<String, &'static str> {
        let below = self.file.strip_prefix(self.folder).ok().and_then(Path::parent).unwrap_or(Path::new(""));
        let folders = below.iter().map(|part| part.to_string_lossy().into_owned());
        let parts = self.plugin.map(str::to_owned).into_iter().chain(folders).chain([own.to_owned()]);
        let parts = parts.map(|part| normalize(&part)).collect::<Result<Vec<_>, _>>()?;
        normalize(&parts.join(":"))
    }
}

/// Reads the frontmatter of a command.
pub(super) fn read(
    location: CommandFile<'_>,
    text: &str,
    source: DefinitionSource,
    problems: &mut Vec<DefinitionProblem>,
) -> Option<SlashSpec> {
    let file = location.file;
    let MarkdownDefinition { frontmatter, body } = match FrontMatter::parse(text) {
        FrontMatter::Absent { body } => {
            MarkdownDefinition { frontmatter: DocumentNode { at: None, value: NodeValue::Nothing }, body }
        }
        FrontMatter::Unterminated | FrontMatter::Present { .. } => MarkdownDefinition::read(file, text, problems)?,
    };
    let mut fields = DefinitionFields::new(file, None, frontmatter, problems)?;
    if body.trim().is_empty() {
        fields.error(None, "it has no text", "write the command's prompt");
    }
    let at = fields.position("name");
    let name = fields.text(&["name"]).map_or_else(|| location.default_name(), |name| location.full_name(&name));
    let name = name.unwrap_or_else(|why| {
        fields.error(at, format!("its name is not valid: {why}"), "use letters, digits and dashes in its name");
        String::new()
    });
    let description = fields.text(&["description"]).unwrap_or_else(|| first_line(body));
    let hint = read_hint(&mut fields);
    let agent = read_agent(&mut fields);
    let allowed_tools = fields.texts(&["allowed-tools"]).unwrap_or_default();
    let at = fields.position("disable-model-invocation");
    if fields.flag(&["disable-model-invocation"]) == Some(false) {
        fields.warning(at, "models cannot call slash commands", "make it a skill to let models call it");
    }
    let spec = SlashSpec {
        name,
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        hint,
        file: file.display().to_string(),
        agent,
        allowed_tools: allowed_tools.into_iter().map(|(tool, _)| tool).collect(),
        source,
    };
    fields.finish(&KNOWN_KEYS, &HARMLESS_KEYS, &UNSUPPORTED_KEYS).then_some(spec)
}

/// The argument hint. It is often written in brackets, which YAML parses as a list.
fn read_hint(fields: &mut DefinitionFields<'_>) -> Option<String> {
    let (_, node) = fields.take(&["argument-hint"])?;
    match &node.value {
        NodeValue::List(items) => {
            Some(format!("[{}]", items.iter().map(DocumentNode::to_key).collect::<Vec<_>>().join(", ")))
        }
        NodeValue::Nothing | NodeValue::Text(_) | NodeValue::Number(_) | NodeValue::Flag(_) | NodeValue::Table(_) => {
            Some(node.to_key())
        }
    }
}

/// The agent that runs the command. Some values are modes of another program's own agent.
fn read_agent(fields: &mut DefinitionFields<'_>) -> Option<String> {
    let at = fields.position("agent");
    let named = fields.text(&["agent", "mode"])?;
    match named.as_str() {
        "agent" | "main" => None,
        "ask" | "edit" | "plan" => {
            fields.warning(at, format!("`{named}` is not an agent here"), "leave it out; the rest is used without it");
            None
        }
        _other => Some(super::name::normalize_or_trim(&named)),
    }
}

fn first_line(body: &str) -> String {
    let line = body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MAX_DERIVED_DESCRIPTION).collect()
}
