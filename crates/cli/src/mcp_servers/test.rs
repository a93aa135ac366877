//! `bosun mcp test`.

use host::Guardian;
use mcp::{McpRevision, McpServers, ServerCheck};
use serde_json::{Value, json};
use tools::ToolCatalog;

use super::{require_ready, servers, unknown};
use crate::args::McpSourceArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure, working_folder};
use tui::print;

pub(super) async fn test(
    setup: &Setup,
    sources: &McpSourceArgs,
    name: &str,
    json: bool,
) -> Result<CommandExit, CliError> {
    let set = servers(setup, sources)?;
    require_ready(&set, name)?;
    let cwd = working_folder(None)?;
    let access = setup.sources().access(&protocol::SessionOptions::default())?;
    let Some(config) = set.config(&access.program_env, setup.env.network_route(), &cwd, &setup.home) else {
        return Err(unknown(name));
    };
    let guardian = Guardian::new("/proc/self/exe".into());
    let servers = McpServers::new(config);
    let checked = servers.check(name, &guardian).await;
    servers.close().await;
    drop(servers);
    if let Err(survivors) = guardian.end().await {
        print::note(format_args!("{survivors}"));
    }
    let check = checked.ok_or_else(|| unknown(name))?.map_err(|why| {
        settings_failure(format!("the MCP server `{name}` cannot be used: {why}"))
            .with_hint(format!("`bosun mcp logs {}` prints its error output", print::shell_quote(name)))
    })?;
    show(name, &check, json);
    Ok(CommandExit::Success)
}

fn show(name: &str, check: &ServerCheck, json: bool) {
    let ServerCheck { revision, tools, rejected, prompts, has_resources } = check;
    let protocol = match revision {
        McpRevision::Session => "2025-11-25 or older",
        McpRevision::Stateless => "2026-07-28",
    };
    if json {
        let tools: Vec<Value> =
            tools.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect();
        let prompts: Vec<Value> =
            prompts.iter().map(|(usage, about)| json!({ "usage": usage, "description": about })).collect();
        return print::json(&json!({ "name": name, "protocol": protocol, "tools": tools, "rejected": rejected,
            "prompts": prompts, "hasResources": has_resources }));
    }
    print::output(format_args!("{name}: protocol {protocol}, {}", print::pluralize(tools.len(), "tool")));
    for (tool, about) in tools {
        print::output(format_args!("  {tool}  {}", print::one_line(&print::sanitize(about), 100)));
    }
    for (usage, about) in prompts {
        print::output(format_args!("  {usage}  {}", print::one_line(about, 100)));
    }
    if *has_resources {
        print::output("  and resources, which agents list and read with their own tools");
    }
    for why in rejected {
        print::note(print::sanitize(&format!("not used: {why}")));
    }
}
