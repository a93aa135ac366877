//! What a client asks about MCP servers while its session runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use protocol::api::{
    McpServerNameParams, McpServerScope, McpServerStatus, McpServerView, McpServersResult, Method, RuleChange,
    RulesParams, SetMcpServersParams, SetMcpServersResult, ToggleMcpServerParams,
};
use protocol::{RuleEffect, SessionOptions};
use rpc::RpcClient;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::status;
use super::{ClientServerConfigs, InProcessServers};
use crate::claude::background::error_text;
use crate::claude::wire::ControlChannel;

/// How long the first turn waits for the client's servers, so that its `init` message has their tools.
const FIRST_TURN_WAIT: Duration = Duration::from_secs(5);

/// Maximum number of servers that a client may set at once.
const MAX_SET: usize = 64;

/// Reaches all MCP servers of a client's session.
#[derive(Debug)]
pub(in crate::claude) struct ServerConnector {
    api: Arc<RpcClient>,
    control: Arc<ControlChannel>,
    in_process: Arc<InProcessServers>,
    /// Connections that are being made because the client configured the servers.
    connecting: JoinSet<()>,
    /// Whether the first turn has waited for them.
    has_waited: bool,
}

impl ServerConnector {
    pub(in crate::claude) fn new(
        api: Arc<RpcClient>,
        control: Arc<ControlChannel>,
        in_process: Arc<InProcessServers>,
    ) -> ServerConnector {
        ServerConnector { api, control, in_process, connecting: JoinSet::new(), has_waited: false }
    }

    /// Begins to connect to the servers that the client configured: it expects to see which of them work. Others start
    /// when an agent needs them.
    pub(in crate::claude) async fn connect_own(&mut self) {
        for server in self.session_servers().await {
            let is_own = server.scope == McpServerScope::Session && server.agent.is_none();
            if is_own && server.status == McpServerStatus::Ready {
                let api = Arc::clone(&self.api);
                self.connecting.spawn(async move { drop(reconnect(&api, server.name).await) });
            }
        }
    }

    /// Waits before the first turn for the connections that are being made, but not for long.
    pub(in crate::claude) async fn wait_for_own(&mut self) {
        if std::mem::replace(&mut self.has_waited, true) {
            return;
        }
        let all = async { while self.connecting.join_next().await.is_some() {} };
        if tokio::time::timeout(FIRST_TURN_WAIT, all).await.is_err() {
            tracing::debug!("the first turn does not wait longer for MCP servers");
        }
    }

    /// The status of all servers, and the names of the tools of the session's.
    pub(in crate::claude) async fn status(&self) -> (Vec<Value>, Vec<String>) {
        let of_session = self.session_servers().await;
        let connected = of_session.iter().filter(|server| server.status == McpServerStatus::Connected);
        let tools = connected.filter_map(|server| server.tools.as_ref()).flatten();
        let tools = tools.map(|tool| tool.full_name.clone()).collect();
        (self.in_process.status().into_iter().chain(of_session.iter().map(status::describe)).collect(), tools)
    }

    /// Answers `mcp_toggle`.
    pub(in crate::claude) async fn toggle(&self, request: &Value) -> Result<Value, String> {
        let name = server_name(request)?;
        let enabled = request["enabled"].as_bool().ok_or("`enabled` must be true or false")?;
        if self.in_process.set_enabled(&name, enabled) {
            return Ok(json!({}));
        }
        let params = ToggleMcpServerParams { name, enabled };
        self.api.call(Method::SessionMcpToggle, params).await.map_err(error_text)
    }

    /// Answers `mcp_reconnect`, which may take as long as a server takes to start.
    pub(in crate::claude) fn reconnect(
        &self,
        request: &Value,
    ) -> impl Future<Output = Result<Value, String>> + Send + 'static {
        let name = server_name(request);
        let of_client = name.as_ref().ok().and_then(|name| self.in_process.usable(name));
        let api = Arc::clone(&self.api);
        async move {
            match (name, of_client) {
                (Err(why), _) | (Ok(_), Some(Err(why))) => Err(why),
                (Ok(_), Some(Ok(()))) => Ok(json!({})),
                (Ok(name), None) => reconnect(&api, name).await,
            }
        }
    }

    /// Answers `mcp_set_servers`: the servers that this request named before are replaced, and so are those inside the
    /// client.
    pub(in crate::claude) fn set_servers(
        &self,
        request: &Value,
    ) -> impl Future<Output = Result<Value, String>> + Send + 'static {
        let servers = request["servers"].as_object().cloned();
        let (api, control) = (Arc::clone(&self.api), Arc::clone(&self.control));
        let in_process = Arc::clone(&self.in_process);
        async move {
            let servers = servers.ok_or("`servers` must be an object")?;
            set_servers(&api, &control, &in_process, servers).await
        }
    }

    async fn session_servers(&self) -> Vec<McpServerView> {
        match self.api.call::<McpServersResult>(Method::SessionMcpList, json!({})).await {
            Ok(McpServersResult { servers }) => servers,
            Err(error) => {
                tracing::warn!(%error, "cannot list the session's MCP servers");
                Vec::new()
            }
        }
    }
}

async fn reconnect(api: &RpcClient, name: String) -> Result<Value, String> {
    api.call(Method::SessionMcpReconnect, McpServerNameParams { name }).await.map_err(error_text)
}

async fn set_servers(
    api: &RpcClient,
    control: &Arc<ControlChannel>,
    in_process: &InProcessServers,
    servers: Map<String, Value>,
) -> Result<Value, String> {
    if servers.len() > MAX_SET {
        return Err(format!("{} MCP servers are set; at most {MAX_SET} are allowed", servers.len()));
    }
    let configs = ClientServerConfigs::of(&servers);
    let changes = rule_changes(&configs);
    if !changes.is_empty() {
        let _added: Value = api.call(Method::RulesSet, RulesParams { changes }).await.map_err(error_text)?;
    }
    // Agents are prepared anew by the next call, then with these servers too.
    let in_process = in_process.set(control, &configs.in_process).await;
    let params = SetMcpServersParams { servers: configs.external.clone() };
    let changed: SetMcpServersResult = api.call(Method::SessionMcpSetServers, params).await.map_err(error_text)?;
    let mut errors: BTreeMap<String, String> = changed.errors;
    errors.extend(configs.invalid);
    errors.extend(in_process.errors);
    let connected = join_all(changed.added.iter().map(|name| reconnect(api, name.clone()))).await;
    let failed = changed.added.iter().zip(connected).filter_map(|(name, it)| Some((name.clone(), it.err()?)));
    errors.extend(failed);
    Ok(json!({
        "added": changed.added.into_iter().chain(in_process.added).collect::<Vec<_>>(),
        "removed": changed.removed.into_iter().chain(in_process.removed).collect::<Vec<_>>(),
        "errors": errors,
    }))
}

/// The client's policies for tools, as rules.
fn rule_changes(configs: &ClientServerConfigs) -> Vec<RuleChange> {
    let mut policies = SessionOptions::default();
    configs.apply(&mut policies);
    let add = |effect: RuleEffect| move |rule: String| RuleChange::Add { effect, rule };
    let asks = policies.ask.into_iter().map(add(RuleEffect::Ask));
    asks.chain(policies.deny.into_iter().map(add(RuleEffect::Deny))).collect()
}

fn server_name(request: &Value) -> Result<String, String> {
    request["serverName"].as_str().map(str::to_owned).ok_or_else(|| "`serverName` must be a string".into())
}
