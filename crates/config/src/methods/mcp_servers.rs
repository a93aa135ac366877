//! The MCP servers of the user's settings: lists, adds, removes and tests them, and reads their logs.

use std::path::Path;

use host::Guardian;
use mcp::{LoginStatus, LoginStore, McpAddress, McpRevision, McpServers, ServerCheck, ServerLog, StoredLogins};
use protocol::api::{
    AddMcpServerParams, ListMcpServersParams, McpDefinitionState, McpDefinitionView, McpDefinitionsResult,
    McpLogResult, McpServerNameParams, McpSettingsFile, McpTestResult, RemoveMcpServerParams, TestMcpServerParams,
    TestedMcpPrompt, TestedMcpTool,
};
use protocol::text::shell_quote;
use protocol::{Refusal, SessionOptions};
use tools::ToolCatalog as _;

use super::answer::absolute_folder;
use super::error::SettingsMethodError;
use crate::assemble::SettingsSources;
use crate::edit;
use crate::mcp_servers::{ListedMcpServer, MCP_LOGS, McpServerSet, McpServerState, check_new_server};

/// Maximum bytes of a log that are returned.
const MAX_LOG_BYTES: u64 = 16 << 20;

impl SettingsSources<'_> {
    /// The servers that sessions in a folder may use, and why they may not use others.
    pub fn list_mcp_servers(&self, params: ListMcpServersParams) -> Result<McpDefinitionsResult, SettingsMethodError> {
        let ListMcpServersParams { cwd, sources, only_these } = params;
        let set = self.mcp_servers(&absolute_folder(cwd)?, sources, only_these)?;
        // Without a readable file, no server is known to need a login.
        let logins = LoginStore::new(self.home.clone()).read_all().unwrap_or_default();
        let servers = set.servers.iter().map(|server| server_view(server, &logins)).collect();
        Ok(McpDefinitionsResult { servers, problems: set.problems })
    }

    /// Adds a server to one of the user's settings files.
    pub fn add_mcp_server(&self, params: AddMcpServerParams) -> Result<McpSettingsFile, SettingsMethodError> {
        let AddMcpServerParams { cwd, scope, name, server } = params;
        check_new_server(&name, &server)?;
        let path = self.user_file(scope, cwd)?;
        let _lock = self.home.lock("settings")?;
        edit::add_mcp_server(&path, &name, &server)?;
        Ok(McpSettingsFile { path: path.display().to_string() })
    }

    /// Removes a server from one of the user's settings files.
    pub fn remove_mcp_server(&self, params: RemoveMcpServerParams) -> Result<McpSettingsFile, SettingsMethodError> {
        let RemoveMcpServerParams { cwd, scope, name } = params;
        let path = self.user_file(scope, cwd)?;
        let _lock = self.home.lock("settings")?;
        if edit::remove_mcp_server(&path, &name)? {
            return Ok(McpSettingsFile { path: path.display().to_string() });
        }
        let unknown = Refusal::new(format!("{} has no MCP server `{name}`", path.display()));
        Err(unknown.with_hint("`bosun mcp list` shows where each server is defined").into())
    }

    /// Starts a server, lists its tools and ends it.
    pub async fn test_mcp_server(&self, params: TestMcpServerParams) -> Result<McpTestResult, SettingsMethodError> {
        let TestMcpServerParams { cwd, name, sources, only_these } = params;
        let cwd = absolute_folder(cwd)?;
        let set = self.mcp_servers(&cwd, sources, only_these)?;
        set.require_ready(&name)?;
        let options = SessionOptions { cwd: Some(cwd.clone()), ..SessionOptions::default() };
        let access = self.access(&options)?;
        let config = set.config(&access.program_env, self.env.network_route(), &cwd, self.home);
        let guardian = Guardian::new("/proc/self/exe".into());
        let servers = McpServers::new(config);
        let checked = servers.check(&name, &guardian).await;
        servers.close().await;
        drop(servers);
        if let Err(survivors) = guardian.end().await {
            tracing::warn!(%survivors, "a program of an MCP server has not ended");
        }
        let checked = checked.ok_or_else(|| McpServerSet::unknown(&name))?;
        Ok(test_result(&name, checked.map_err(|why| unusable(&name, &why))?))
    }

    /// What a server wrote to its error output.
    pub fn read_mcp_log(
        &self,
        McpServerNameParams { name }: &McpServerNameParams,
    ) -> Result<McpLogResult, SettingsMethodError> {
        let path = ServerLog::path(&self.home.root().join(MCP_LOGS), name);
        let bytes = host::read_plain(&path, MAX_LOG_BYTES)
            .map_err(|error| Refusal::new(format!("{}: {error}", path.display())))?;
        if bytes.is_none() {
            // A server that was removed keeps its log.
            let set = self.mcp_servers(&absolute_folder(None)?, Vec::new(), false)?;
            set.servers.iter().find(|server| server.name == *name).ok_or_else(|| McpServerSet::unknown(name))?;
        }
        Ok(McpLogResult { text: bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) })
    }

    /// The servers of a session in this folder.
    pub fn mcp_servers(
        &self,
        cwd: &Path,
        mcp_sources: Vec<String>,
        only_these_mcp_servers: bool,
    ) -> Result<McpServerSet, Refusal> {
        let options = SessionOptions { mcp_sources, only_these_mcp_servers, ..SessionOptions::default() };
        let layers = self.layers(&options, None, cwd)?;
        let catalog = self.load_catalog(&layers, &options)?;
        layers.mcp_servers(&options, self.env, cwd, &catalog.listing)
    }
}

fn server_view(server: &ListedMcpServer, logins: &StoredLogins) -> McpDefinitionView {
    let (state, reason) = match &server.state {
        McpServerState::Ready(settings) => match &settings.address {
            McpAddress::Url { url, .. } if logins.status(&server.name, url) == LoginStatus::Needed => {
                let command = format!("run `bosun mcp login {}`", shell_quote(&server.name));
                (McpDefinitionState::NeedsLogin, Some(command))
            }
            McpAddress::Url { .. } | McpAddress::Program(_) => (McpDefinitionState::Ready, None),
        },
        McpServerState::Disabled(_) => (McpDefinitionState::Disabled, None),
        McpServerState::Unusable(why) => (McpDefinitionState::Unusable, Some(why.clone())),
    };
    McpDefinitionView {
        name: server.name.clone(),
        state,
        reason,
        address: server.address.clone(),
        scope: server.origin.scope(),
        origin: server.origin.to_string(),
        agent: server.origin.agent().map(str::to_owned),
    }
}

fn unusable(name: &str, why: &str) -> Refusal {
    Refusal::new(format!("the MCP server `{name}` cannot be used: {why}"))
        .with_hint(format!("`bosun mcp logs {}` prints its error output", shell_quote(name)))
}

fn test_result(name: &str, checked: ServerCheck) -> McpTestResult {
    let ServerCheck { revision, tools, rejected, prompts, has_resources } = checked;
    let protocol = match revision {
        McpRevision::Session => "2025-11-25 or older",
        McpRevision::Stateless => "2026-07-28",
    };
    McpTestResult {
        name: name.to_owned(),
        protocol: protocol.to_owned(),
        tools: tools.into_iter().map(|(name, description)| TestedMcpTool { name, description }).collect(),
        prompts: prompts.into_iter().map(|(usage, description)| TestedMcpPrompt { usage, description }).collect(),
        has_resources,
        rejected,
    }
}
