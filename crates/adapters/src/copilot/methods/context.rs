//! What the session's context consists of: `session.metadata.contextInfo`, methods like it, and
//! `session.instructions.getSources`.

use protocol::api::{ContextInstructions, ContextMessage, ContextView, Method};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::model::REPORTED_CONTEXT_TOKENS;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::model_names::client_model_name;

/// The methods of `session.metadata` that are answered here.
pub(crate) const METHODS: [&str; 4] = [
    "session.metadata.contextInfo",
    "session.metadata.recomputeContextTokens",
    "session.metadata.getContextAttribution",
    "session.metadata.getContextHeaviestMessages",
];

/// The part of a model's window that fills before the conversation is compacted, in percent.
const COMPACTION_PERCENT: u64 = 85;

/// How many messages are listed by default.
const DEFAULT_MESSAGES: u64 = 10;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    let view: ContextView = session.call(Method::ContextGet, json!({})).await?;
    match method {
        "session.metadata.contextInfo" => Ok(json!({ "contextInfo": context_info(&view, &params) })),
        "session.metadata.recomputeContextTokens" => Ok(json!({
            "systemTokenCount": view.system_tokens,
            "messagesTokenCount": view.message_tokens,
            "totalTokens": view.system_tokens + view.message_tokens,
        })),
        "session.metadata.getContextAttribution" => {
            let compactions = compactions(session).await?;
            Ok(json!({ "contextAttribution": attribution(&view, compactions) }))
        }
        "session.metadata.getContextHeaviestMessages" => {
            let limit = params["limit"].as_u64().unwrap_or(DEFAULT_MESSAGES);
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let messages: Vec<Value> = view.largest_messages.iter().take(limit).map(heavy_message).collect();
            Ok(json!({ "totalTokens": view.message_tokens, "messages": messages }))
        }
        "session.instructions.getSources" => {
            Ok(json!({ "sources": view.instructions.iter().map(instruction_source).collect::<Vec<_>>() }))
        }
        other => Err(unhandled(other)),
    }
}

fn total(view: &ContextView) -> u64 {
    view.system_tokens + view.tool_tokens + view.message_tokens
}

/// The sizes of the context, within the limits that the client names.
fn context_info(view: &ContextView, params: &Value) -> Value {
    let limit = |name: &str| params[name].as_u64().filter(|limit| *limit > 0);
    let prompt_limit = limit("promptTokenLimit").or(view.window).unwrap_or(REPORTED_CONTEXT_TOKENS);
    let output = limit("outputTokenLimit").unwrap_or_default();
    let threshold = prompt_limit * COMPACTION_PERCENT / 100;
    json!({
        "modelName": params["selectedModel"].as_str().unwrap_or_else(|| client_model_name(&view.model)),
        "systemTokens": view.system_tokens,
        "conversationTokens": view.message_tokens,
        "toolDefinitionsTokens": view.tool_tokens,
        "mcpToolsTokens": mcp_tokens(view),
        "totalTokens": total(view),
        "promptTokenLimit": prompt_limit,
        "compactionThreshold": threshold,
        "limit": prompt_limit.saturating_add(output),
        "bufferTokens": prompt_limit - threshold,
    })
}

fn mcp_tokens(view: &ContextView) -> u64 {
    view.tools.iter().filter(|tool| tool.name.starts_with("mcp__")).map(|tool| tool.tokens).sum()
}

fn attribution(view: &ContextView, compactions: usize) -> Value {
    let limit = view.window.unwrap_or(REPORTED_CONTEXT_TOKENS);
    let threshold = limit * COMPACTION_PERCENT / 100;
    let instructions: u64 = view.instructions.iter().map(|file| file.tokens).sum();
    let system = view.system_tokens.saturating_sub(instructions);
    let entry = |kind: &str, id: &str, label: &str, tokens: u64| json!({ "kind": kind, "id": id, "label": label, "tokens": tokens });
    let files = view.instructions.iter().map(|file| entry("instructions", &file.path, &file.path, file.tokens));
    let tools = view.tools.iter().map(|tool| entry("tool", &tool.name, &tool.name, tool.tokens));
    let entries: Vec<Value> = [entry("system", "system", "System prompt", system)]
        .into_iter()
        .chain(files)
        .chain(tools)
        .chain([entry("messages", "messages", "Messages", view.message_tokens)])
        .collect();
    json!({
        "totalTokens": total(view),
        "modelId": client_model_name(&view.model),
        "modelSource": "session",
        "promptTokenLimit": limit,
        "limit": limit,
        "bufferTokens": limit - threshold,
        "compactionThreshold": threshold,
        "categories": {
            "systemPrompt": system,
            "customInstructions": instructions,
            "systemTools": view.tool_tokens - mcp_tokens(view),
            "mcpTools": mcp_tokens(view),
            "messages": view.message_tokens,
            "freeSpace": threshold.saturating_sub(total(view)),
            "buffer": limit - threshold,
        },
        "entries": entries,
        "compactions": { "count": compactions },
    })
}

/// How often the root's conversation was compacted.
async fn compactions(session: &HostedSession) -> Result<usize, ErrorObject> {
    let events = crate::copilot::history::recorded_events(session.home(), session.id()).await?;
    let is_compaction = |event: &&Value| event["type"] == "session.compaction_complete" && event["agentId"].is_null();
    Ok(events.iter().filter(is_compaction).count())
}

fn heavy_message(message: &ContextMessage) -> Value {
    let ContextMessage { place, role, excerpt, tokens } = message;
    let label = if excerpt.is_empty() { role.as_str() } else { excerpt };
    json!({ "id": format!("message-{place}"), "label": label, "role": role.as_str(), "tokens": tokens })
}

fn instruction_source(file: &ContextInstructions) -> Value {
    let ContextInstructions { path, scope, text, tokens: _ } = file;
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut source = json!({
        "id": path,
        "label": name,
        "sourcePath": path,
        "content": text,
        "type": "repo",
        "location": "working-directory",
    });
    if let Some(scope) = scope {
        source["applyTo"] = json!([scope]);
    }
    source
}

#[cfg(test)]
mod tests {
    use protocol::api::ContextTool;

    use super::*;

    fn view() -> ContextView {
        ContextView {
            model: "client/m".into(),
            window: None,
            system_tokens: 100,
            tool_tokens: 30,
            message_tokens: 7,
            messages: 2,
            largest_messages: Vec::new(),
            tools: [("mcp__db__query", 20), ("shell", 10)].map(|(name, tokens)| tool(name, tokens)).to_vec(),
            instructions: vec![ContextInstructions {
                path: "/w/AGENTS.md".into(),
                scope: None,
                text: "x".into(),
                tokens: 40,
            }],
        }
    }

    fn tool(name: &str, tokens: u64) -> ContextTool {
        ContextTool { name: name.into(), description: "does it".into(), schema: json!({}), tokens }
    }

    #[test]
    fn the_parts_of_a_context_add_up() {
        let info = context_info(&view(), &json!({ "promptTokenLimit": 1000, "outputTokenLimit": 50 }));
        assert_eq!(
            (&info["totalTokens"], &info["limit"], &info["mcpToolsTokens"]),
            (&json!(137), &json!(1050), &json!(20))
        );
        assert_eq!(info["modelName"], "m");
        let attribution = attribution(&view(), 1);
        let entries = attribution["entries"].as_array().unwrap();
        assert_eq!(entries.iter().map(|entry| entry["tokens"].as_u64().unwrap()).sum::<u64>(), 137);
        assert_eq!(attribution["categories"]["customInstructions"], 40);
    }
}
