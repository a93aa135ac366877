//! What a definition asks for besides tools: models, effort, mode, budget, isolation, place and MCP servers.

use protocol::{Budget, Isolation, ModelPreference, PermissionMode, PlaceName, ReasoningEffort, parse_usd};

use super::fields::DefinitionFields;
use super::node::NodeValue;

/// The MCP servers of an agent's file.
#[derive(Default)]
pub(super) struct RequiredServers {
    /// Those of the session that it names.
    pub(super) named: Vec<String>,
    /// A message about those that the file itself defines, which are not started.
    pub(super) unsupported: Option<String>,
}

pub(super) fn required_servers(fields: &mut DefinitionFields<'_>) -> RequiredServers {
    let Some((_, node)) = fields.take(&["mcp-servers"]) else { return RequiredServers::default() };
    let (mut named, mut defined) = (Vec::new(), Vec::new());
    match &node.value {
        NodeValue::Table(table) => defined.extend(table.iter().map(|(key, _)| key.to_key())),
        NodeValue::List(list) => {
            for entry in list {
                match &entry.value {
                    NodeValue::Table(table) => defined.extend(table.iter().map(|(key, _)| key.to_key())),
                    NodeValue::List(_)
                    | NodeValue::Nothing
                    | NodeValue::Flag(_)
                    | NodeValue::Number(_)
                    | NodeValue::Text(_) => named.push(entry.to_key()),
                }
            }
        }
        NodeValue::Nothing => {}
        NodeValue::Flag(_) | NodeValue::Number(_) | NodeValue::Text(_) => named.push(node.to_key()),
    }
    let names = defined.join(", ");
    let unsupported = (!names.is_empty()).then(|| {
        format!("it defines MCP servers ({names}), which are started only from .mcp.json and settings in this version")
    });
    RequiredServers { named, unsupported }
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
