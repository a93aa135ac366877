//! What a definition asks for besides tools: models, effort, a mode, a budget, and what this version cannot do.

use protocol::{Budget, Effort, Isolation, PermissionMode, Taste};

use super::fields::Fields;
use super::node::{Node, Value};
use crate::amount::parse_usd;

pub(super) fn servers(fields: &mut Fields<'_>) -> Option<String> {
    let (_, node) = fields.take(&["mcp-servers"])?;
    let names: Vec<String> = match &node.value {
        Value::Table(table) => table.iter().map(|(key, _)| key.to_key()).collect(),
        Value::List(list) => list.iter().map(Node::to_key).collect(),
        Value::Nothing | Value::Flag(_) | Value::Number(_) | Value::Text(_) => vec![node.to_key()],
    };
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("it needs MCP servers ({names}), which come with a later version"))
}

/// The place of its own that an agent works in, and what of it this version cannot give.
pub(super) fn isolation(fields: &mut Fields<'_>, unserved: &mut Vec<String>) -> Option<Isolation> {
    let at = fields.spot("isolation");
    match fields.text(&["isolation"])?.as_str() {
        "none" | "off" => None,
        "worktree" => Some(Isolation::Worktree { base: None, dirty: false }),
        "remote" => {
            unserved.push("it is to work in isolation (remote), which comes with a later version".into());
            None
        }
        other => {
            fields.error(at, format!("`{other}` is no isolation"), "write worktree or none");
            None
        }
    }
}

/// The models in their order. The session's own is what there is without any.
pub(super) fn models(fields: &mut Fields<'_>) -> Vec<String> {
    let named = fields.texts(&["model", "models"]).unwrap_or_default();
    let named: Vec<String> = named.into_iter().map(|(name, _)| name).filter(|name| !name.is_empty()).collect();
    if named.iter().all(|name| matches!(name.to_ascii_lowercase().as_str(), "inherit" | "default" | "auto")) {
        return Vec::new();
    }
    named
}

pub(super) fn taste(fields: &mut Fields<'_>) -> Taste {
    let at = fields.spot("taste");
    match fields.text(&["taste"]).as_deref() {
        None | Some("same") => Taste::Same,
        Some("small") => Taste::Small,
        Some("other") => Taste::Other,
        Some(other) => {
            fields.error(at, format!("`{other}` is no taste"), "write same, small or other");
            Taste::Same
        }
    }
}

pub(super) fn effort(fields: &mut Fields<'_>) -> Option<Effort> {
    let at = fields.spot("reasoning-effort").filter(|_| fields.has("reasoning-effort")).or(fields.spot("effort"));
    let word = fields.text(&["reasoning-effort", "effort"])?.to_ascii_lowercase();
    match word.as_str() {
        "low" => Some(Effort::Low),
        "medium" => Some(Effort::Medium),
        "high" => Some(Effort::High),
        "inherit" | "default" | "auto" => None,
        "none" | "minimal" => {
            fields.warning(at, format!("the effort `{word}` is taken as low"), "write low");
            Some(Effort::Low)
        }
        "xhigh" | "max" | "ultra" => {
            fields.warning(at, format!("the effort `{word}` is taken as high"), "write high");
            Some(Effort::High)
        }
        other => {
            fields.error(at, format!("`{other}` is no effort"), "write low, medium or high");
            None
        }
    }
}

pub(super) fn permission(fields: &mut Fields<'_>) -> Option<PermissionMode> {
    let at = fields.spot("permission-mode");
    match fields.text(&["permission-mode"])?.as_str() {
        "default" | "manual" => Some(PermissionMode::Default),
        "acceptEdits" | "accept-edits" => Some(PermissionMode::AcceptEdits),
        "plan" => Some(PermissionMode::Plan),
        "allow-all" => Some(PermissionMode::AllowAll),
        "bypassPermissions" => {
            let words = "an agent's mode only narrows the session's, so this one changes nothing";
            fields.warning(at, words, "leave it out, and give the session another mode");
            Some(PermissionMode::AllowAll)
        }
        other @ ("dontAsk" | "auto") => {
            let words = format!("the mode `{other}` is not in this version; default is used");
            fields.warning(at, words, "write default, accept-edits or plan");
            Some(PermissionMode::Default)
        }
        other => {
            fields.error(at, format!("`{other}` is no mode"), "write default, accept-edits, plan or allow-all");
            None
        }
    }
}

pub(super) fn budget(fields: &mut Fields<'_>) -> Budget {
    let remedy = "write `budget: { usd: 0.50, tokens: 200000 }`, either of them";
    let mut budget = Budget::default();
    let Some((at, node)) = fields.take(&["budget"]) else { return budget };
    let Value::Table(table) = node.value else {
        fields.error(at, format!("`budget` is {}", node.value.kind()), remedy);
        return budget;
    };
    for (key, value) in table {
        let place = key.at.or(value.at).or(at);
        let amount = match &value.value {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.trim().to_owned(),
            other @ (Value::Nothing | Value::Flag(_) | Value::List(_) | Value::Table(_)) => other.kind().to_owned(),
        };
        let read = match key.to_key().as_str() {
            "usd" => parse_usd(&amount).ok().filter(|micros| *micros > 0).map(|micros| budget.micros = Some(micros)),
            "tokens" => {
                amount.replace('_', "").parse().ok().filter(|it| *it > 0).map(|tokens| budget.tokens = Some(tokens))
            }
            _unknown => None,
        };
        if read.is_none() {
            let shown: String = amount.chars().take(40).collect();
            fields.error(place, format!("`budget.{}: {shown}` is no budget", key.to_key()), remedy);
        }
    }
    budget
}
