//! What the context of the session consists of, as the SDK shows it.

use protocol::api::{ContextRole, ContextTool, ContextView};
use serde_json::{Value, json};

/// The window that is reported if that of the model is not known: clients divide by it.
const ASSUMED_WINDOW: u64 = 200_000;

/// The prefix of the names of MCP servers' tools.
const SERVER_PREFIX: &str = "mcp__";

/// The answer to `get_context_usage`. Tokens are estimates.
pub(super) fn context_usage(view: &ContextView, agents: &[String]) -> Value {
    let tools =
        |of_servers: bool| view.tools.iter().filter(move |tool| tool.name.starts_with(SERVER_PREFIX) == of_servers);
    let sum = |tools: &mut dyn Iterator<Item = &ContextTool>| tools.map(|tool| tool.tokens).sum::<u64>();
    let instructions: u64 = view.instructions.iter().map(|file| file.tokens).sum();
    let used = view.system_tokens + view.tool_tokens + view.message_tokens;
    let window = view.window.unwrap_or(ASSUMED_WINDOW);
    let rows = [
        ("system_prompt", "System prompt", view.system_tokens.saturating_sub(instructions), "used"),
        ("memory_files", "Memory files", instructions, "used"),
        ("system_tools", "System tools", sum(&mut tools(false)), "used"),
        ("mcp_tools", "MCP tools", sum(&mut tools(true)), "used"),
        ("messages", "Messages", view.message_tokens, "used"),
        ("free_space", "Free space", window.saturating_sub(used), "free"),
    ];
    let category = |(id, name, tokens, kind): &(&str, &str, u64, &str)| json!({ "id": id, "name": name, "tokens": tokens, "color": "", "kind": kind });
    let memory = view.instructions.iter();
    let memory = memory.map(|file| json!({ "path": file.path, "type": "Project", "tokens": file.tokens }));
    let named = |tool: &ContextTool| json!({ "name": tool.name, "tokens": tool.tokens });
    let of_server = |tool: &ContextTool| {
        let server = tool.name.trim_start_matches(SERVER_PREFIX).split("__").next().unwrap_or_default();
        json!({ "name": tool.name, "serverName": server, "tokens": tool.tokens, "isLoaded": true })
    };
    let agent = |name: &String| json!({ "agentType": name, "source": "session", "tokens": 0 });
    json!({
        "categories": rows.iter().map(category).collect::<Vec<_>>(),
        "totalTokens": used,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": percentage(used, window),
        "gridRows": [],
        "model": view.model,
        "memoryFiles": memory.collect::<Vec<_>>(),
        "mcpTools": tools(true).map(of_server).collect::<Vec<_>>(),
        "systemTools": tools(false).map(named).collect::<Vec<_>>(),
        "agents": agents.iter().map(agent).collect::<Vec<_>>(),
        "isAutoCompactEnabled": true,
        "messageBreakdown": message_breakdown(view),
        "apiUsage": null,
    })
}

/// The tokens of messages by their role. Only the largest messages are known one by one.
fn message_breakdown(view: &ContextView) -> Value {
    let of_role = |role: ContextRole| -> u64 {
        view.largest_messages.iter().filter(|message| message.role == role).map(|message| message.tokens).sum()
    };
    let (user, assistant, results) =
        (of_role(ContextRole::User), of_role(ContextRole::Assistant), of_role(ContextRole::Tool));
    json!({
        "toolCallTokens": 0, "toolResultTokens": results, "attachmentTokens": 0,
        "assistantMessageTokens": assistant, "userMessageTokens": user, "redirectedContextTokens": 0,
        "unattributedTokens": view.message_tokens.saturating_sub(user + assistant + results),
        "toolCallsByType": [], "attachmentsByType": [],
    })
}

/// The used part of the window, in whole percent.
fn percentage(used: u64, window: u64) -> u64 {
    used.saturating_mul(100) / window.max(1)
}
