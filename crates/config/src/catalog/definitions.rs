//! Agent definitions as JSON: a list of them, or a table by name.

use std::path::Path;

use protocol::DefinitionSource;

use super::agent::{self, AgentDraft};
use super::node::{DocumentNode, JsonNode, NodeValue};
use super::{DefinitionProblem, FilePosition};

/// Reads every definition in a text and adds their problems to `problems`. Fails unless it is a JSON list or table.
pub(super) fn read(
    file: &Path,
    text: &str,
    source: &DefinitionSource,
    problems: &mut Vec<DefinitionProblem>,
) -> Result<Vec<AgentDraft>, DefinitionProblem> {
    let JsonNode(node) = serde_json::from_str(text).map_err(|error| {
        let at = FilePosition { line: error.line() as u64, column: error.column().max(1) as u64 };
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        let remedy = "write JSON such as {\"NAME\": {\"description\": \"…\", \"prompt\": \"…\"}}";
        DefinitionProblem::error(file, format!("it is not JSON: {message}"), remedy).at(Some(at))
    })?;
    let mut read = |name: Option<&str>, node| agent::from_keys(file, name, node, source.clone(), problems);
    Ok(match unwrap_agents(node).value {
        NodeValue::List(list) => list.into_iter().filter_map(|node| read(None, node)).collect(),
        NodeValue::Table(table) => {
            table.into_iter().filter_map(|(name, node)| read(Some(&name.to_key()), node)).collect()
        }
        other => {
            let message = format!("expected definitions, found {}", other.kind());
            return Err(DefinitionProblem::error(file, message, "write a list of agents, or a table of them by name"));
        }
    })
}

/// The content of `{"agents": …}`, if that is the only key.
fn unwrap_agents(node: DocumentNode) -> DocumentNode {
    match node.value {
        NodeValue::Table(mut table) if table.len() == 1 && table[0].0.to_key() == "agents" => {
            table.pop().map_or(DocumentNode { at: None, value: NodeValue::Nothing }, |(_, inner)| inner)
        }
        value => DocumentNode { value, ..node },
    }
}
