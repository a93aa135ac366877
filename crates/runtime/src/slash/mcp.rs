//! `/mcp`: the MCP servers of the session.

use protocol::api::{McpServerView, ToggleMcpServerParams};
use protocol::{clip_middle, text};
use tools::OutsidePromptUsage;

use super::SlashOutcome;
use super::error::SlashError;
use super::registry::help_line;
use crate::session_context::SessionContext;
use crate::supervisor::Supervisor;

/// The most tools of a server that are named.
const MAX_NAMED_TOOLS: usize = 40;

/// The longest description of a server's prompt.
const MAX_PROMPT_DESCRIPTION_CHARS: usize = 120;

/// The most bytes of a server's problem.
const MAX_PROBLEM_BYTES: usize = 600;

/// Runs the command with these arguments.
pub(super) async fn run(
    context: &SessionContext,
    supervisor: &Supervisor,
    arguments: &str,
) -> Result<SlashOutcome, SlashError> {
    let (action, name) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let name = name.trim();
    match (action, name) {
        ("" | "list", "") => Ok(SlashOutcome::Text(list(&context.mcp_servers()))),
        ("enable" | "disable", name) if !name.is_empty() => {
            let toggle = ToggleMcpServerParams { name: name.to_owned(), enabled: action == "enable" };
            context.toggle_mcp_server(supervisor, toggle).await?;
            Ok(SlashOutcome::done(format!("the MCP server {name} is {action}d for this session")))
        }
        ("reconnect", name) if !name.is_empty() => {
            context.reconnect_mcp_server(name).await?;
            let tools = context.mcp_servers().into_iter().find(|server| server.name == name);
            let tools = tools.and_then(|server| server.tools).map_or(0, |tools| tools.len());
            Ok(SlashOutcome::done(format!("the MCP server {name} is connected; tools: {tools}")))
        }
        _other => Err(SlashError::McpUsage),
    }
}

/// The list of commands with the prompts of servers. Those of a server are known while it runs.
pub(super) fn with_prompts(commands: String, prompts: &[OutsidePromptUsage]) -> String {
    let line = |prompt: &OutsidePromptUsage| {
        help_line(&prompt.usage, &text::one_line(&prompt.description, MAX_PROMPT_DESCRIPTION_CHARS))
    };
    let unknown = "a prompt of an MCP server; `/mcp reconnect SERVER` starts one, and then they are listed here";
    let lines: Vec<String> = match prompts {
        [] => vec![help_line("/mcp__SERVER__PROMPT [ARGUMENTS]", unknown)],
        prompts => prompts.iter().map(line).collect(),
    };
    format!("{commands}\n{}", lines.join("\n"))
}

fn list(servers: &[McpServerView]) -> String {
    match servers {
        [] => "there are no MCP servers; `bosun mcp add` adds one".into(),
        servers => servers.iter().map(describe).collect::<Vec<_>>().join("\n"),
    }
}

/// A server with its state, its problem and its tools.
fn describe(server: &McpServerView) -> String {
    let mut text = format!("{}  {}", server.name, server.status.as_str());
    if let Some(agent) = &server.agent {
        text.push_str(&format!(" (only for agents of the type {agent})"));
    }
    if let Some(error) = &server.error {
        text.push_str(&format!(": {}", clip_middle(error, MAX_PROBLEM_BYTES)));
    }
    if let Some(tools) = &server.tools {
        let named = tools.iter().take(MAX_NAMED_TOOLS).map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ");
        let more = tools.len().saturating_sub(MAX_NAMED_TOOLS);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        text.push_str(&format!("\n    tools: {named}{more}"));
    }
    text.push_str(&format!("\n    {}, from {}", server.address, server.origin));
    text
}

#[cfg(test)]
mod tests {
    use protocol::api::{McpServerScope, McpServerStatus, McpToolView};

    use super::*;

    #[test]
    fn prompts_of_servers_that_run_are_among_the_commands() {
        let prompt =
            OutsidePromptUsage { usage: "/mcp__docs__review FILE".into(), description: "Reviews\n  a file.".into() };
        let line = "/mcp__docs__review FILE         Reviews a file.";
        assert_eq!(with_prompts("/help".into(), &[prompt]), format!("/help\n{line}"));
        assert!(
            with_prompts("/help".into(), &[]).contains("/mcp__SERVER__PROMPT [ARGUMENTS] a prompt of an MCP server")
        );
    }

    #[test]
    fn servers_are_listed_with_their_states_tools_and_problems() {
        let server = |name: &str, status, error: Option<&str>, tools| McpServerView {
            name: name.into(),
            status,
            error: error.map(str::to_owned),
            scope: McpServerScope::User,
            origin: "your settings".into(),
            agent: None,
            transport: None,
            address: "run it".into(),
            server_info: None,
            tools,
        };
        let tool = |name: &str| McpToolView {
            name: name.into(),
            full_name: format!("mcp__a__{name}"),
            description: String::new(),
            read_only: false,
        };
        let connected = server("a", McpServerStatus::Connected, None, Some(vec![tool("add"), tool("sub")]));
        let failed = server("b", McpServerStatus::Failed, Some("no such program"), None);
        let text = "a  connected\n    tools: add, sub\n    run it, from your settings\n\
                    b  failed: no such program\n    run it, from your settings";
        assert_eq!(list(&[connected, failed]), text);
        assert_eq!(list(&[]), "there are no MCP servers; `bosun mcp add` adds one");
    }
}
