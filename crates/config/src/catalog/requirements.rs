//! What a definition asks for besides tools: models, effort, mode, budget, isolation, place and MCP servers.

use std::collections::BTreeMap;

use protocol::{
    Budget, ForeignMcpServer, Isolation, McpServerSpec, ModelPreference, PermissionMode, PlaceName, ReasoningEffort,
    parse_usd,
};

use super::FilePosition;
use super::fields::DefinitionFields;
use super::node::{DocumentNode, NodeValue};

/// The MCP servers of an agent's definition.
#[derive(Default)]
pub(super) struct RequiredServers {
    /// Those of the session that it names.
    pub(super) named: Vec<String>,
    /// Its own.
    pub(super) own: BTreeMap<String, McpServerSpec>,
}

impl RequiredServers {
    /// The names of all of them.
    pub(super) fn names(&self) -> Vec<String> {
        self.named.iter().chain(self.own.keys()).cloned().collect()
    }
}

pub(super) fn required_servers(fields: &mut DefinitionFields<'_>) -> RequiredServers {
    let Some((at, node)) = fields.take(&["mcp-servers"]) else { return RequiredServers::default() };
    let mut servers = RequiredServers::default();
    match node.value {
        NodeValue::Table(table) => add_own_servers(fields, at, table, &mut servers),
        NodeValue::List(list) => {
            for entry in list {
                match entry.value {
                    NodeValue::Table(table) => add_own_servers(fields, entry.at.or(at), table, &mut servers),
                    NodeValue::List(_)
                    | NodeValue::Nothing
                    | NodeValue::Flag(_)
                    | NodeValue::Number(_)
                    | NodeValue::Text(_) => servers.named.push(entry.to_key()),
                }
            }
        }
        NodeValue::Nothing => {}
        NodeValue::Flag(_) | NodeValue::Number(_) | NodeValue::Text(_) => servers.named.push(node.to_key()),
    }
    servers
}

/// Reads servers that a definition has itself. One without anything behind its name is one of the session.
fn add_own_servers(
    fields: &mut DefinitionFields<'_>,
    at: Option<FilePosition>,
    table: Vec<(DocumentNode, DocumentNode)>,
    servers: &mut RequiredServers,
) {
    for (key, node) in table {
        let (name, at) = (key.to_key(), key.at.or(at));
        let server = match node.to_json() {
            serde_json::Value::Null => {
                servers.named.push(name);
                continue;
            }
            serde_json::Value::Object(server) => ForeignMcpServer::read(server).map_err(|error| error.to_string()),
            _other => Err(format!("it is {}", node.value.kind())),
        };
        match server {
            Ok(ForeignMcpServer { server, unused_keys }) => {
                if !unused_keys.is_empty() {
                    let message = format!("the MCP server `{name}`: no effect have {}", unused_keys.join(", "));
                    fields.warning(at, message, "remove them");
                }
                servers.own.insert(name, server);
            }
            Err(why) => {
                let message = format!("the MCP server `{name}` is not one: {why}");
                fields.error(at, message, "write `command` and `args`, or `url`");
            }
        }
    }
}

/// The isolation that a definition asks for. Adds a message to `unsupported` if this version cannot provide it.
pub(super) fn isolation(fields: &mut DefinitionFields<'_>, unsupported: &mut Vec<String>) -> Option<Isolation> {
    let at = fields.position("isolation");
    match fields.text(&["isolation"])?.as_str() {
        "none" | "off" => None,
        "worktree" => Some(Isolation::Worktree { base: None, dirty: false }),
        "remote" => {
            unsupported.push("it asks for `isolation: remote`, which is not supported yet".into());
            None
        }
        other => {
            fields.error(at, format!("`{other}` is not a kind of isolation"), "write worktree or none");
            None
        }
    }
}

/// Where the agent's runs take place.
pub(super) fn place(fields: &mut DefinitionFields<'_>) -> Option<PlaceName> {
    let at = fields.position("place");
    match fields.text(&["place"])?.as_str() {
        "session" => None,
        "process" => Some(PlaceName::own_process()),
        other => {
            fields.error(at, format!("`{other}` is not a place"), "write process or session");
            None
        }
    }
}

/// The models in order of preference; empty means the session's model.
pub(super) fn models(fields: &mut DefinitionFields<'_>) -> Vec<String> {
    let named = fields.texts(&["model", "models"]).unwrap_or_default();
    let named: Vec<String> = named.into_iter().map(|(name, _)| name).filter(|name| !name.is_empty()).collect();
    if named.iter().all(|name| matches!(name.to_ascii_lowercase().as_str(), "inherit" | "default" | "auto")) {
        return Vec::new();
    }
    named
}

pub(super) fn model_preference(fields: &mut DefinitionFields<'_>) -> ModelPreference {
    let at = fields.position("taste");
    match fields.text(&["taste"]).as_deref() {
        None | Some("same") => ModelPreference::Same,
        Some("small") => ModelPreference::Small,
        Some("other") => ModelPreference::Other,
        Some(other) => {
            fields.error(at, format!("`{other}` is not a taste"), "write same, small or other");
            ModelPreference::Same
        }
    }
}

pub(super) fn effort(fields: &mut DefinitionFields<'_>) -> Option<ReasoningEffort> {
    let at =
        fields.position("reasoning-effort").filter(|_| fields.has("reasoning-effort")).or(fields.position("effort"));
    let effort = fields.text(&["reasoning-effort", "effort"])?.to_ascii_lowercase();
    match effort.as_str() {
        "low" => Some(ReasoningEffort::Low),
        "medium" => Some(ReasoningEffort::Medium),
        "high" => Some(ReasoningEffort::High),
        "inherit" | "default" | "auto" => None,
        "none" | "minimal" => {
            fields.warning(at, format!("the effort `{effort}` is taken as low"), "write low");
            Some(ReasoningEffort::Low)
        }
        "xhigh" | "max" | "ultra" => {
            fields.warning(at, format!("the effort `{effort}` is taken as high"), "write high");
            Some(ReasoningEffort::High)
        }
        other => {
            fields.error(at, format!("`{other}` is not an effort"), "write low, medium or high");
            None
        }
    }
}

pub(super) fn permission(fields: &mut DefinitionFields<'_>) -> Option<PermissionMode> {
    let at = fields.position("permission-mode");
    match fields.text(&["permission-mode"])?.as_str() {
        "default" | "manual" => Some(PermissionMode::Default),
        "acceptEdits" | "accept-edits" => Some(PermissionMode::AcceptEdits),
        "plan" => Some(PermissionMode::Plan),
        "allow-all" => Some(PermissionMode::AllowAll),
        "bypassPermissions" => {
            let message = "an agent's mode can only restrict the session's, so this one has no effect";
            fields.warning(at, message, "leave it out, or change the session's mode");
            Some(PermissionMode::AllowAll)
        }
        other @ ("dontAsk" | "auto") => {
            let message = format!("the mode `{other}` is not supported in this version; default is used");
            fields.warning(at, message, "write default, accept-edits or plan");
            Some(PermissionMode::Default)
        }
        other => {
            fields.error(at, format!("`{other}` is not a mode"), "write default, accept-edits, plan or allow-all");
            None
        }
    }
}

pub(super) fn budget(fields: &mut DefinitionFields<'_>) -> Budget {
    let remedy = "write `budget: { usd: 0.50, tokens: 200000 }` with one or both keys";
    let mut budget = Budget::default();
    let Some((at, node)) = fields.take(&["budget"]) else { return budget };
    let NodeValue::Table(table) = node.value else {
        fields.error(at, format!("`budget` is {}", node.value.kind()), remedy);
        return budget;
    };
    for (key, value) in table {
        let position = key.at.or(value.at).or(at);
        let amount = match &value.value {
            NodeValue::Number(number) => number.to_string(),
            NodeValue::Text(text) => text.trim().to_owned(),
            other @ (NodeValue::Nothing | NodeValue::Flag(_) | NodeValue::List(_) | NodeValue::Table(_)) => {
                other.kind().to_owned()
            }
        };
        let parsed = match key.to_key().as_str() {
            "usd" => parse_usd(&amount).ok().filter(|micros| *micros > 0).map(|micros| budget.micros = Some(micros)),
            "tokens" => {
                amount.replace('_', "").parse().ok().filter(|it| *it > 0).map(|tokens| budget.tokens = Some(tokens))
            }
            _unknown => None,
        };
        if parsed.is_none() {
            let shown: String = amount.chars().take(40).collect();
            fields.error(position, format!("`budget.{}: {shown}` is not a budget", key.to_key()), remedy);
        }
    }
    budget
}
