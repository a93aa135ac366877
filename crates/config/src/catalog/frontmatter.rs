//! Reads the frontmatter of a Markdown definition: YAML, or lines that almost are.

use std::path::Path;

use protocol::FrontMatter;
use serde_saphyr::{Error, MessageFormatter, UserMessageFormatter};

use super::node::{DocumentNode, NodeValue, YamlNode};
use super::{DefinitionProblem, FilePosition};

/// A Markdown definition, split into frontmatter and body.
pub(super) struct MarkdownDefinition<'a> {
    pub(super) frontmatter: DocumentNode,
    pub(super) body: &'a str,
}

/// Lines above the frontmatter's first line.
const LINES_ABOVE: u64 = 1;

impl<'a> MarkdownDefinition<'a> {
    /// Reads a definition and adds its problems to `problems`.
    pub(super) fn read(
        file: &Path,
        text: &'a str,
        problems: &mut Vec<DefinitionProblem>,
    ) -> Option<MarkdownDefinition<'a>> {
        let at = |line| Some(FilePosition { line, column: 1 });
        let (head, body) = match FrontMatter::parse(text) {
            FrontMatter::Present { head, body } => (head, body),
            FrontMatter::Unterminated => {
                let remedy = "close it with a line of three dashes";
                problems.push(DefinitionProblem::error(file, "its frontmatter is not closed", remedy).at(at(1)));
                return None;
            }
            FrontMatter::Absent { .. } => {
                let remedy = "begin it with `---`, `description: …` and `---` on lines of their own";
                problems
                    .push(DefinitionProblem::error(file, "it has no frontmatter, so it is ignored", remedy).at(at(1)));
                return None;
            }
        };
        let head = match serde_saphyr::from_str_with_options::<YamlNode>(head, yaml_limits()) {
            Ok(YamlNode(node)) => node.shifted(LINES_ABOVE),
            Err(Error::Eof { .. }) => DocumentNode { at: at(1), value: NodeValue::Table(Vec::new()) },
            Err(error) => {
                let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
                let at = Some(FilePosition { line: line + LINES_ABOVE, column });
                if let Some(node) = parse_loosely(head, &error) {
                    let (message, remedy) =
                        ("this is not YAML, so each line is read as a key and its text", "put the value in quotes");
                    problems.push(DefinitionProblem::warning(file, message, remedy).at(at));
                    node
                } else {
                    let (message, remedy) =
                        describe_yaml_error(&error, "frontmatter", head.lines().nth(line.saturating_sub(1) as usize));
                    problems.push(DefinitionProblem::error(file, message, remedy).at(at));
                    return None;
                }
            }
        };
        Some(MarkdownDefinition { frontmatter: head, body })
    }
}

/// Returns a YAML error's message and remedy, worded for an author.
pub(crate) fn describe_yaml_error(error: &Error, what: &str, line: Option<&str>) -> (String, &'static str) {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => describe_yaml_error(error, what, line),
        Error::DuplicateMappingKey { key: Some(key), .. } => (format!("duplicate key `{key}`"), "remove one"),
        Error::DuplicateMappingKey { key: None, .. } => ("duplicate key".into(), "remove one"),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            (format!("the {what} is too large, too deeply nested, or made of too many aliases"), "simplify it")
        }
        _syntax if line.is_some_and(|line| line.starts_with('\t')) => {
            ("YAML does not allow tabs as indentation".into(), "indent with spaces")
        }
        other => {
            let message = UserMessageFormatter.format_message(other).into_owned();
            (
                message.lines().next().unwrap_or_default().to_owned(),
                "correct the line; quote values that contain `: ` or `#`",
            )
        }
    }
}

/// Reads each line as a key and a text, as other programs do: descriptions with colons are common but not valid YAML.
/// Returns `None` if the frontmatter has another error.
fn parse_loosely(head: &str, error: &Error) -> Option<DocumentNode> {
    if matches!(error, Error::DuplicateMappingKey { .. } | Error::Budget { .. }) || head.contains('\t') {
        return None;
    }
    let mut table: Vec<(DocumentNode, DocumentNode)> = Vec::new();
    let mut has_colons = false;
    for (number, line) in (1 + LINES_ABOVE..).zip(head.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let (key, value) = line.split_once(':')?;
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        let value = value.trim();
        let opens = value.starts_with(['[', '{', '"', '\'', '|', '>', '&', '*', '!', '@', '`', '%']);
        if !is_key || opens || table.iter().any(|(known, _)| known.to_key() == key) {
            return None;
        }
        has_colons |= value.contains(": ") || value.ends_with(':');
        let at = |column| Some(FilePosition { line: number, column });
        let text = |text: &str, column| DocumentNode { at: at(column), value: NodeValue::Text(text.to_owned()) };
        let value = match value {
            "" => DocumentNode { at: at(1), value: NodeValue::Nothing },
            "true" | "false" => DocumentNode { at: at(1), value: NodeValue::Flag(value == "true") },
            number if number.parse::<u32>().is_ok() => DocumentNode {
                at: at(1),
                value: number.parse::<u32>().map_or(NodeValue::Nothing, |number| NodeValue::Number(number.into())),
            },
            plain => text(plain, key.len() as u64 + 3),
        };
        table.push((text(key, 1), value));
    }
    has_colons.then_some(DocumentNode {
        at: Some(FilePosition { line: 1 + LINES_ABOVE, column: 1 }),
        value: NodeValue::Table(table),
    })
}

fn yaml_limits() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            max_nodes: 20_000,
            max_events: 50_000,
            max_aliases: 100,
            max_anchors: 100,
            max_recorded_anchor_events: 10_000,
            max_recorded_anchor_bytes: 1 << 20,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: 8,
        },
        strict_booleans: true,
        with_snippet: false,
    }
}
