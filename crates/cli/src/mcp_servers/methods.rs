//! The API's methods on the MCP servers of the user's settings. The commands print the same answers.

use std::path::{Path, PathBuf};

use config::{MCP_LOGS, McpServerSet, Project, local_file};
use mcp::{LoginStore, ServerLog};
use protocol::SessionOptions;
use protocol::api::{
    AddMcpServerParams, ListMcpServersParams, McpDefinitionsResult, McpLogResult, McpServerNameParams, McpSettingsFile,
    McpTestResult, Method, RemoveMcpServerParams, TestMcpServerParams, UserSettingsScope,
};
use rpc::{ErrorObject, read_params};
use serde_json::Value;

use super::{list, test};
use crate::error::CliError;
use crate::settings_methods::{absolute_folder, to_json};
use crate::setup::{Setup, settings_failure};

/// Maximum bytes of a log that are returned.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// Answers a method on MCP servers.
pub(crate) async fn answer(setup: &Setup, method: Method, params: Value) -> Result<Value, ErrorObject> {
    match method {
        Method::McpList => to_json(list_servers(setup, read_params(params)?)),
        Method::McpAdd => to_json(add_server(setup, read_params(params)?)),
        Method::McpRemove => to_json(remove_server(setup, read_params(params)?)),
        Method::McpTest => to_json(test_server(setup, read_params(params)?).await),
        Method::McpLogs => to_json(read_log(setup, read_params(params)?)),
        elsewhere => Err(ErrorObject::unknown_method(elsewhere.name())),
    }
}

pub(super) fn list_servers(setup: &Setup, params: ListMcpServersParams) -> Result<McpDefinitionsResult, CliError> {
    let ListMcpServersParams { cwd, sources, only_these } = params;
    let set = servers(setup, &absolute_folder(cwd)?, sources, only_these)?;
    Ok(list::view(&set, &LoginStore::new(setup.home.clone())))
}

pub(super) fn add_server(setup: &Setup, params: AddMcpServerParams) -> Result<McpSettingsFile, CliError> {
    let AddMcpServerParams { cwd, scope, name, server } = params;
    let path = settings_file(setup, cwd, scope)?;
    let _lock = setup.home.lock("settings")?;
    config::add_mcp_server(&path, &name, &server).map_err(settings_failure)?;
    Ok(McpSettingsFile { path: path.display().to_string() })
}

pub(super) fn remove_server(setup: &Setup, params: RemoveMcpServerParams) -> Result<McpSettingsFile, CliError> {
    let RemoveMcpServerParams { cwd, scope, name } = params;
    let path = settings_file(setup, cwd, scope)?;
    let _lock = setup.home.lock("settings")?;
    match config::remove_mcp_server(&path, &name).map_err(settings_failure)? {
        true => Ok(McpSettingsFile { path: path.display().to_string() }),
        false => Err(CliError::usage(format!("{} has no MCP server `{name}`", path.display()))
            .with_hint("`bosun mcp list` shows where each server is defined")),
    }
}

pub(super) async fn test_server(setup: &Setup, params: TestMcpServerParams) -> Result<McpTestResult, CliError> {
    let TestMcpServerParams { cwd, name, sources, only_these } = params;
    let cwd = absolute_folder(cwd)?;
    test::start(setup, &servers(setup, &cwd, sources, only_these)?, &name, &cwd).await
}

pub(super) fn read_log(
    setup: &Setup,
    McpServerNameParams { name }: McpServerNameParams,
) -> Result<McpLogResult, CliError> {
    let path = ServerLog::path(&setup.home.root().join(MCP_LOGS), &name);
    let bytes = host::read_plain(&path, MAX_LOG_BYTES)
        .map_err(|error| settings_failure(format!("{}: {error}", path.display())))?;
    Ok(McpLogResult { text: bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) })
}

/// The servers of a session in this folder.
pub(super) fn servers(
    setup: &Setup,
    cwd: &Path,
    mcp_sources: Vec<String>,
    only_these_mcp_servers: bool,
) -> Result<McpServerSet, CliError> {
    let options = SessionOptions { mcp_sources, only_these_mcp_servers, ..SessionOptions::default() };
    let sources = setup.sources();
    let layers = sources.layers(&options, None, cwd)?;
    let catalog = sources.load_catalog(&layers, &options)?;
    Ok(layers.mcp_servers(&options, &setup.env, cwd, &catalog.listing)?)
}

fn settings_file(setup: &Setup, cwd: Option<String>, scope: UserSettingsScope) -> Result<PathBuf, CliError> {
    let home = setup.home.root();
    Ok(match scope {
        UserSettingsScope::User => home.join("config.toml"),
        UserSettingsScope::Local => local_file(home, &Project::find(&absolute_folder(cwd)?).dir),
    })
}
