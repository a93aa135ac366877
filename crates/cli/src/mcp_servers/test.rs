//! `bosun mcp test`.

use std::path::Path;

use config::{McpServerSet, McpServerState};
use host::Guardian;
use mcp::{McpRevision, McpServers, ServerCheck};
use protocol::SessionOptions;
use protocol::api::{McpTestResult, TestedMcpPrompt, TestedMcpTool};
use tools::ToolCatalog as _;
use tui::print;

use crate::error::CliError;
use crate::setup::{Setup, settings_failure};

/// Starts a server in a folder, lists its tools and ends it.
pub(super) async fn start(
    setup: &Setup,
    set: &McpServerSet,
    name: &str,
    cwd: &Path,
) -> Result<McpTestResult, CliError> {
    require_ready(set, name)?;
    let options = SessionOptions { cwd: Some(cwd.to_owned()), ..SessionOptions::default() };
    let access = setup.sources().access(&options)?;
    let config = set.config(&access.program_env, setup.env.network_route(), cwd, &setup.home);
    let guardian = Guardian::new("/proc/self/exe".into());
    let servers = McpServers::new(config);
    let checked = servers.check(name, &guardian).await;
    servers.close().await;
    drop(servers);
    if let Err(survivors) = guardian.end().await {
        tracing::warn!(%survivors, "a program of an MCP server has not ended");
    }
    let ServerCheck { revision, tools, rejected, prompts, has_resources } =
        checked.ok_or_else(|| unknown(name))?.map_err(|why| {
            settings_failure(format!("the MCP server `{name}` cannot be used: {why}"))
                .with_hint(format!("`bosun mcp logs {}` prints its error output", print::shell_quote(name)))
        })?;
    let protocol = match revision {
        McpRevision::Session => "2025-11-25 or older",
        McpRevision::Stateless => "2026-07-28",
    };
    Ok(McpTestResult {
        name: name.to_owned(),
        protocol: protocol.to_owned(),
        tools: tools.into_iter().map(|(name, description)| TestedMcpTool { name, description }).collect(),
        prompts: prompts.into_iter().map(|(usage, description)| TestedMcpPrompt { usage, description }).collect(),
        has_resources,
        rejected,
    })
}

pub(super) fn require_ready(set: &McpServerSet, name: &str) -> Result<(), CliError> {
    let is_named = |server: &&config::ListedMcpServer| server.name == name && server.origin.agent().is_none();
    let server = set.servers.iter().find(is_named).ok_or_else(|| unknown(name))?;
    match &server.state {
        McpServerState::Ready(_) => Ok(()),
        McpServerState::Disabled(_) => Err(CliError::usage(format!("the MCP server `{name}` is disabled"))),
        McpServerState::Unusable(why) => Err(settings_failure(format!("the MCP server `{name}` is not used: {why}"))),
    }
}

pub(super) fn unknown(name: &str) -> CliError {
    CliError::usage(format!("there is no MCP server `{name}` here")).with_hint("`bosun mcp list` shows the servers")
}

pub(super) fn print(result: &McpTestResult, json: bool) {
    let McpTestResult { name, protocol, tools, prompts, has_resources, rejected } = result;
    if json {
        return print::json(result);
    }
    print::output(format_args!("{name}: protocol {protocol}, {}", print::pluralize(tools.len(), "tool")));
    for TestedMcpTool { name, description } in tools {
        print::output(format_args!("  {name}  {}", print::one_line(&print::sanitize(description), 100)));
    }
    for TestedMcpPrompt { usage, description } in prompts {
        print::output(format_args!("  {usage}  {}", print::one_line(&print::sanitize(description), 100)));
    }
    if *has_resources {
        print::output("  and resources, which agents list and read with their own tools");
    }
    for why in rejected {
        print::note(print::sanitize(&format!("not used: {why}")));
    }
}
