//! `bosun mcp`: the MCP servers whose tools agents can use, and Bosun as a server.

mod list;
mod login;
mod serve;
mod test;

use std::path::PathBuf;

use config::{MCP_LOGS, McpServerSet, McpServerState, Project, local_file};
use mcp::ServerLog;
use protocol::{McpServerSpec, SessionOptions};

use crate::args::{McpAddArgs, McpArgs, McpCommand, McpScope, McpSourceArgs};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure, working_folder};
use tui::print;

/// Maximum bytes of a log that are printed.
const MAX_LOG_BYTES: u64 = 16 << 20;

pub(crate) async fn perform(args: &McpArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match &args.command {
        McpCommand::List { sources, json } => list::list(&setup, &servers(&setup, sources)?, *json),
        McpCommand::Add(options) => add(&setup, options),
        McpCommand::Remove { name, scope } => remove(&setup, name, *scope),
        McpCommand::Test { name, sources, json } => test::test(&setup, sources, name, *json).await,
        McpCommand::Serve(options) => serve::serve(&setup, options).await,
        McpCommand::Login { name, sources, json } => login::login(&setup, sources, name, *json).await,
        McpCommand::Logout { name, sources } => login::logout(&setup, sources, name).await,
        McpCommand::Logs { name } => show_log(&setup, name),
    }
}

/// The servers of a session in the working folder.
fn servers(setup: &Setup, sources: &McpSourceArgs) -> Result<McpServerSet, CliError> {
    let options = SessionOptions {
        mcp_sources: sources.sources(),
        only_these_mcp_servers: sources.strict_mcp_config,
        ..SessionOptions::default()
    };
    let cwd = working_folder(None)?;
    let layers = setup.sources().layers(&options, None, &cwd)?;
    Ok(layers.mcp_servers(&options, &setup.env, &cwd)?)
}

/// Fails unless sessions may use the server.
fn require_ready(set: &McpServerSet, name: &str) -> Result<(), CliError> {
    let server = set.servers.iter().find(|server| server.name == name).ok_or_else(|| unknown(name))?;
    match &server.state {
        McpServerState::Ready(_) => Ok(()),
        McpServerState::Disabled => Err(CliError::usage(format!("the MCP server `{name}` is disabled"))),
        McpServerState::Unusable(why) => Err(settings_failure(format!("the MCP server `{name}` is not used: {why}"))),
    }
}

fn unknown(name: &str) -> CliError {
    CliError::usage(format!("there is no MCP server `{name}` here")).with_hint("`bosun mcp list` shows the servers")
}

fn settings_file(setup: &Setup, scope: McpScope) -> Result<PathBuf, CliError> {
    let home = setup.home.root();
    Ok(match scope {
        McpScope::User => home.join("config.toml"),
        McpScope::Local => local_file(home, &Project::find(&working_folder(None)?).dir),
    })
}

fn add(setup: &Setup, args: &McpAddArgs) -> Result<CommandExit, CliError> {
    let path = settings_file(setup, args.scope)?;
    let mut words = args.command.iter().cloned();
    let server = McpServerSpec {
        command: words.next(),
        args: words.collect(),
        env: args.env.iter().cloned().collect(),
        url: args.url.clone(),
        headers: args.header.iter().cloned().collect(),
        ..McpServerSpec::default()
    };
    let _lock = setup.home.lock("settings")?;
    config::add_mcp_server(&path, &args.name, &server).map_err(settings_failure)?;
    print::note(format_args!("{}: written to {}", args.name, path.display()));
    print::note(format_args!("`bosun mcp test {}` starts it and lists its tools", print::shell_quote(&args.name)));
    Ok(CommandExit::Success)
}

fn remove(setup: &Setup, name: &str, scope: McpScope) -> Result<CommandExit, CliError> {
    let path = settings_file(setup, scope)?;
    let _lock = setup.home.lock("settings")?;
    match config::remove_mcp_server(&path, name).map_err(settings_failure)? {
        true => {
            print::note(format_args!("{name}: removed from {}", path.display()));
            Ok(CommandExit::Success)
        }
        false => Err(CliError::usage(format!("{} has no MCP server `{name}`", path.display()))
            .with_hint("`bosun mcp list` shows where each server is defined")),
    }
}

fn show_log(setup: &Setup, name: &str) -> Result<CommandExit, CliError> {
    let path = ServerLog::path(&setup.home.root().join(MCP_LOGS), name);
    let bytes = host::read_plain(&path, MAX_LOG_BYTES)
        .map_err(|error| settings_failure(format!("{}: {error}", path.display())))?;
    match bytes {
        // The server may write anything, escape sequences included.
        Some(bytes) => print::output(print::sanitize(String::from_utf8_lossy(&bytes).trim_end())),
        None => print::note(format_args!("the server `{name}` has written nothing")),
    }
    Ok(CommandExit::Success)
}
