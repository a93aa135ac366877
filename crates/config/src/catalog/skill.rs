//! Skills: instructions that are loaded when needed. Only their frontmatter is read here.

use std::path::Path;

use protocol::{DefinitionSource, SkillSpec};

use super::DefinitionProblem;
use super::fields::DefinitionFields;
use super::frontmatter::MarkdownDefinition;
use super::name::normalize;

/// Supported keys.
const KNOWN_KEYS: [&str; 5] = ["name", "description", "user-invocable", "disable-model-invocation", "allowed-tools"];

/// Keys that are for people or for other programs.
const HARMLESS_KEYS: [&str; 12] = [
    "argument-hint",
    "arguments",
    "license",
    "version",
    "author",
    "metadata",
    "tags",
    "category",
    "compatibility",
    "when-to-use",
    "title",
    "mode",
];

/// Keys of other programs that affect a skill there and are not supported here.
const UNSUPPORTED_KEYS: [&str; 8] = ["context", "agent", "model", "effort", "hooks", "shell", "paths", "tools"];

/// Reads the frontmatter of a skill.
pub(super) fn read(
    file: &Path,
    text: &str,
    source: DefinitionSource,
    problems: &mut Vec<DefinitionProblem>,
) -> Option<SkillSpec> {
    let MarkdownDefinition { frontmatter, body } = MarkdownDefinition::read(file, text, problems)?;
    let mut fields = DefinitionFields::new(file, None, frontmatter, problems)?;
    if body.trim().is_empty() {
        fields.error(None, "it has no text below its frontmatter", "write the instructions below the frontmatter");
    }
    // The default name is that of the skill's folder.
    let folder = file.parent().and_then(Path::file_name);
    let at = fields.position("name");
    let written = fields.text(&["name"]).or_else(|| folder.map(|name| name.to_string_lossy().into_owned()));
    let name = written.as_deref().map_or(Err("it has none"), normalize).unwrap_or_else(|why| {
        fields.error(at, format!("its name is not valid: {why}"), "use letters, digits and dashes in `name`");
        String::new()
    });
    let at = fields.position("description");
    let description = fields.text(&["description"]).unwrap_or_default();
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if description.is_empty() {
        fields.error(at, "it has no description", "add `description`: one line on when to use it");
    }
    let disabled = fields.flag(&["disable-model-invocation"]).unwrap_or(false);
    let allowed_tools = fields.texts(&["allowed-tools"]).unwrap_or_default();
    let spec = SkillSpec {
        name,
        description,
        file: file.display().to_string(),
        model_invocable: !disabled,
        user_invocable: fields.flag(&["user-invocable", "user-invokable"]).unwrap_or(true),
        allowed_tools: allowed_tools.into_iter().map(|(tool, _)| tool).collect(),
        source,
    };
    fields.finish(&KNOWN_KEYS, &HARMLESS_KEYS, &UNSUPPORTED_KEYS).then_some(spec)
}
