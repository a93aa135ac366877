//! Reads the head of a Markdown definition: YAML, or what people take for it.

use std::path::Path;

use protocol::FrontMatter;
use serde_saphyr::{Error, MessageFormatter, UserMessageFormatter};

use super::node::{DocumentNode, NodeValue, YamlNode};
use super::{DefinitionProblem, FilePosition};

/// A definition in Markdown, taken apart.
pub(super) struct MarkdownDefinition<'a> {
    pub(super) head: DocumentNode,
    pub(super) body: &'a str,
}

/// Lines before the first one of a head.
const ABOVE: u64 = 1;

impl<'a> MarkdownDefinition<'a> {
    /// Reads a definition; what is wrong with it goes to `problems`.
    pub(super) fn read(
        file: &Path,
        text: &'a str,
        problems: &mut Vec<DefinitionProblem>,
    ) -> Option<MarkdownDefinition<'a>> {
        let at = |line| Some(FilePosition { line, column: 1 });
        let (head, body) = match FrontMatter::parse(text) {
            FrontMatter::Present { head, body } => (head, body),
            FrontMatter::Unterminated => {
                let remedy = "close its head with a line of three dashes";
                problems.push(DefinitionProblem::error(file, "its head never ends", remedy).at(at(1)));
                return None;
            }
            FrontMatter::Absent { .. } => {
                let remedy = "begin it with `---`, `description: …` and `---` on lines of their own";
                problems
                    .push(DefinitionProblem::error(file, "it has no head, so it defines nothing", remedy).at(at(1)));
                return None;
            }
        };
        let head = match serde_saphyr::from_str_with_options::<YamlNode>(head, limits()) {
            Ok(YamlNode(node)) => node.shifted(ABOVE),
            Err(Error::Eof { .. }) => DocumentNode { at: at(1), value: NodeValue::Table(Vec::new()) },
            Err(error) => {
                let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
                let at = Some(FilePosition { line: line + ABOVE, column });
                if let Some(node) = loose(head, &error) {
                    let (words, remedy) =
                        ("this is not YAML, so each line is read as it is", "put the value in quotes");
                    problems.push(DefinitionProblem::warning(file, words, remedy).at(at));
                    node
                } else {
                    let (words, remedy) =
                        describe_yaml_error(&error, "head", head.lines().nth(line.saturating_sub(1) as usize));
                    problems.push(DefinitionProblem::error(file, words, remedy).at(at));
                    return None;
                }
            }
        };
        Some(MarkdownDefinition { head, body })
    }
}

/// What is wrong with YAML, and what to do, in the words of someone who writes it.
pub(crate) fn describe_yaml_error(error: &Error, what: &str, line: Option<&str>) -> (String, &'static str) {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => describe_yaml_error(error, what, line),
        Error::DuplicateMappingKey { key: Some(key), .. } => (format!("the key `{key}` is here twice"), "remove one"),
        Error::DuplicateMappingKey { key: None, .. } => ("a key is here twice".into(), "remove one"),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => (
            format!("the {what} is too large, too deeply nested, or made of too many aliases"),
            "write it more plainly",
        ),
        _syntax if line.is_some_and(|line| line.starts_with('\t')) => {
            ("a tab stands where YAML wants spaces".into(), "indent with spaces")
        }
        other => {
            let words = UserMessageFormatter.format_message(other).into_owned();
            (
                words.lines().next().unwrap_or_default().to_owned(),
                "correct the line; quote values that hold `: ` or `#`",
            )
        }
    }
}

/// The head as other programs read it that take each line for a key and a text: descriptions with colons in them are
/// common, and no YAML. None when the mistake is another one.
fn loose(head: &str, error: &Error) -> Option<DocumentNode> {
    if matches!(error, Error::DuplicateMappingKey { .. } | Error::Budget { .. }) || head.contains('\t') {
        return None;
    }
    let mut table: Vec<(DocumentNode, DocumentNode)> = Vec::new();
    let mut colons = false;
    for (number, line) in (1 + ABOVE..).zip(head.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let (key, value) = line.split_once(':')?;
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        let value = value.trim();
        let opens = value.starts_with(['[', '{', '"', '\'', '|', '>', '&', '*', '!', '@', '`', '%']);
        if !is_key || opens || table.iter().any(|(known, _)| known.to_key() == key) {
            return None;
        }
        colons |= value.contains(": ") || value.ends_with(':');
        let at = |column| Some(FilePosition { line: number, column });
        let text = |text: &str, column| DocumentNode { at: at(column), value: NodeValue::Text(text.to_owned()) };
        let value = match value {
            "" => DocumentNode { at: at(1), value: NodeValue::Nothing },
            "true" | "false" => DocumentNode { at: at(1), value: NodeValue::Flag(value == "true") },
            number if number.parse::<u32>().is_ok() => DocumentNode {
                at: at(1),
                value: number.parse::<u32>().map_or(NodeValue::Nothing, |it| NodeValue::Number(it.into())),
            },
            words => text(words, key.len() as u64 + 3),
        };
        table.push((text(key, 1), value));
    }
    colons.then_some(DocumentNode {
        at: Some(FilePosition { line: 1 + ABOVE, column: 1 }),
        value: NodeValue::Table(table),
    })
}

fn limits() -> serde_saphyr::Options {
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
