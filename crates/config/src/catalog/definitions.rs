//! Agent definitions as JSON: a list of them, or a table by name.

use std::path::Path;

use protocol::DefinitionSource;

use super::agent::{self, AgentDraft};
use super::node::{DocumentNode, JsonNode, NodeValue};
use super::{DefinitionProblem, FilePosition};

/// Reads every definition of a text; what is wrong goes to `problems`. The error is that the text is not JSON.
pub(super) fn read(
    file: &Path,
    text: &str,
    source: &DefinitionSource,
    problems: &mut Vec<DefinitionProblem>,
) -> Result<Vec<AgentDraft>, DefinitionProblem> {
    let JsonNode(node) = serde_json::from_str(text).map_err(|error| {
        let at = FilePosition { line: error.line() as u64, column: error.column().max(1) as u64 };
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        let remedy = "write JSON such as {\"NAME\": {\"description\": \"…\", \"prompt\": \"…\"}}";
        DefinitionProblem::error(file, format!("it is not JSON: {words}"), remedy).at(Some(at))
    })?;
    let mut read = |name: Option<&str>, node| agent::from_keys(file, name, node, source.clone(), problems);
    Ok(match unwrapped(node).value {
        NodeValue::List(list) => list.into_iter().filter_map(|node| read(None, node)).collect(),
        NodeValue::Table(table) => {
            table.into_iter().filter_map(|(name, node)| read(Some(&name.to_key()), node)).collect()
        }
        other => {
            let words = format!("{} stands where definitions belong", other.kind());
            return Err(DefinitionProblem::error(file, words, "write a list of agents, or a table of them by name"));
        }
    })
}

/// What is inside of `{"agents": …}`, if that is all there is.
fn unwrapped(node: DocumentNode) -> DocumentNode {
    match node.value {
        NodeValue::Table(mut table) if table.len() == 1 && table[0].0.to_key() == "agents" => {
            table.pop().map_or(DocumentNode { at: None, value: NodeValue::Nothing }, |(_, inner)| inner)
        }
        value => DocumentNode { value, ..node },
    }
}
