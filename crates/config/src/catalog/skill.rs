//! Skills: texts that are loaded when they are needed. Only their heads are read here.

use std::path::Path;

use protocol::{DefinitionSource, SkillSpec};

use super::DefinitionProblem;
use super::fields::DefinitionFields;
use super::head::MarkdownDefinition;
use super::name::normal;

/// Keys that mean something here.
const KNOWN: [&str; 5] = ["name", "description", "user-invocable", "disable-model-invocation", "allowed-tools"];

/// Keys that are for people or for other programs.
const HARMLESS: [&str; 12] = [
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

/// Keys of other programs that would change what a skill does, and cannot here.
const UNSUPPORTED: [&str; 8] = ["context", "agent", "model", "effort", "hooks", "shell", "paths", "tools"];

/// Reads the head of a skill.
pub(super) fn read(
    file: &Path,
    text: &str,
    source: DefinitionSource,
    problems: &mut Vec<DefinitionProblem>,
) -> Option<SkillSpec> {
    let MarkdownDefinition { head, body } = MarkdownDefinition::read(file, text, problems)?;
    let mut fields = DefinitionFields::new(file, None, head, problems)?;
    if body.trim().is_empty() {
        fields.error(None, "it has no text below its head", "write below the head what is to be done");
    }
    // A skill has a folder of its own, which names it.
    let usual = file.parent().and_then(Path::file_name);
    let at = fields.position("name");
    let written = fields.text(&["name"]).or_else(|| usual.map(|name| name.to_string_lossy().into_owned()));
    let name = written.as_deref().map_or(Err("it has none"), normal).unwrap_or_else(|why| {
        fields.error(at, format!("it cannot be named so: {why}"), "use letters, digits and dashes in `name`");
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
    fields.finish(&KNOWN, &HARMLESS, &UNSUPPORTED).then_some(spec)
}
