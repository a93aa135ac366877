//! `/mcp`, and the API's methods on the MCP servers of a session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use host::Guardian;
use net::Secret;
use protocol::api::{
    McpServerScope, McpServerStatus, McpServerView, McpServersResult, McpToolView, Method, SetMcpServersResult,
};
use protocol::{Event, McpServerSpec};
use rpc::CallError;
use runtime::SessionStart;
use runtime::slash::SlashOutcome;
use serde_json::{Value, json};
use testkit::session::{SessionDriver, scenario};
use tools::{
    BoxFuture, CatalogListing, McpControlError, McpServerControl, McpTokenSource, OutsidePromptUsage, RemoteTasks,
    SecretSink, Tool, ToolCatalog,
};

use super::{refused, shown_text};
use crate::support::connect;

/// One server `calc`, whose status is what was asked of it last.
#[derive(Debug)]
struct TestServers(Mutex<McpServerStatus>);

impl TestServers {
    fn new() -> Arc<TestServers> {
        Arc::new(TestServers(Mutex::new(McpServerStatus::Ready)))
    }

    fn status(&self) -> McpServerStatus {
        *self.0.lock().unwrap()
    }

    fn set(&self, status: McpServerStatus) {
        *self.0.lock().unwrap() = status;
    }
}

impl ToolCatalog for TestServers {
    fn for_agent(self: Arc<Self>, _definition: &str) -> Arc<dyn ToolCatalog> {
        self
    }

    fn sources(&self) -> Vec<String> {
        if self.status() == McpServerStatus::Disabled { Vec::new() } else { vec!["calc".into()] }
    }

    fn tool(&self, _name: &str) -> Option<Arc<dyn Tool>> {
        None
    }

    fn list<'a>(&'a self, _query: &'a str, _guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing> {
        Box::pin(async { CatalogListing::default() })
    }

    fn remote_tasks(&self) -> Option<&dyn RemoteTasks> {
        None
    }

    fn known_prompts(&self) -> BoxFuture<'_, Vec<OutsidePromptUsage>> {
        let prompt =
            OutsidePromptUsage { usage: "/mcp__calc__explain TERM".into(), description: "Explains a term.".into() };
        let running = (self.status() == McpServerStatus::Connected).then_some(prompt);
        Box::pin(async { running.into_iter().collect() })
    }

    fn control(&self) -> Option<&dyn McpServerControl> {
        Some(self)
    }
}

impl McpServerControl for TestServers {
    fn servers(&self) -> Vec<McpServerView> {
        let tool = McpToolView {
            name: "add".into(),
            full_name: "mcp__calc__add".into(),
            description: "Adds.".into(),
            read_only: true,
        };
        vec![McpServerView {
            name: "calc".into(),
            status: self.status(),
            error: None,
            scope: McpServerScope::User,
            origin: "your settings".into(),
            agent: None,
            transport: None,
            address: "run calc".into(),
            server_info: None,
            tools: (self.status() == McpServerStatus::Connected).then(|| vec![tool]),
        }]
    }

    fn set_enabled(&self, _server: &str, enabled: bool) -> Result<(), McpControlError> {
        self.set(if enabled { McpServerStatus::Ready } else { McpServerStatus::Disabled });
        Ok(())
    }

    fn reconnect<'a>(&'a self, server: &'a str, _guardian: &'a Guardian) -> BoxFuture<'a, Result<(), McpControlError>> {
        Box::pin(async move {
            if self.status() == McpServerStatus::Disabled {
                return Err(McpControlError::Disabled(server.into()));
            }
            self.set(McpServerStatus::Connected);
            Ok(())
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }

    fn report_secrets(&self, _sink: Arc<dyn SecretSink>) {}

    fn use_tokens_of(&self, _source: Arc<dyn McpTokenSource>) {}

    fn set_servers(&self, servers: &BTreeMap<String, McpServerSpec>) -> Result<SetMcpServersResult, McpControlError> {
        Ok(SetMcpServersResult { added: servers.keys().cloned().collect(), ..SetMcpServersResult::default() })
    }
}

async fn done(driver: &SessionDriver, line: &str) -> String {
    match driver.session().dispatch(line).await {
        SlashOutcome::Done { message, .. } => message,
        other => panic!("{line}: {other:?}"),
    }
}

#[tokio::test]
async fn a_switched_server_stays_so_when_the_session_is_resumed() {
    let servers = TestServers::new();
    let driver = scenario().tool_catalog(Arc::clone(&servers) as _).ready().open(SessionStart::New).await;
    assert_eq!(shown_text(&driver, "/mcp").await, "calc  ready\n    run calc, from your settings");
    assert!(shown_text(&driver, "/help").await.contains("\n/mcp__SERVER__PROMPT [ARGUMENTS] "));
    assert_eq!(done(&driver, "/mcp reconnect calc").await, "the MCP server calc is connected; tools: 1");
    assert!(shown_text(&driver, "/help").await.ends_with("\n/mcp__calc__explain TERM        Explains a term."));
    assert!(shown_text(&driver, "/mcp list").await.starts_with("calc  connected\n    tools: add\n"));
    assert_eq!(done(&driver, "/mcp disable calc").await, "the MCP server calc is disabled for this session");
    assert!(refused(&driver, "/mcp reconnect calc").await.contains("is disabled"));
    assert!(refused(&driver, "/mcp enable nix").await.contains("has no MCP server `nix`"));
    for wrong in ["/mcp enable", "/mcp fly calc", "/mcp reconnect"] {
        assert!(refused(&driver, wrong).await.starts_with("/mcp: it lists the servers"), "{wrong}");
    }
    assert_eq!(done(&driver, "/mcp disable calc").await, "the MCP server calc is disabled for this session");
    let left = driver.leave().await;
    assert_eq!(left.count(|event| matches!(event, Event::McpServerToggled { enabled: false, .. })), 1);

    // The next process begins with the server as its settings have it.
    servers.set(McpServerStatus::Ready);
    let driver = left.stage().open(SessionStart::Resume(left.id())).await;
    assert!(shown_text(&driver, "/mcp").await.starts_with("calc  disabled\n"));
    assert_eq!(done(&driver, "/mcp enable calc").await, "the MCP server calc is enabled for this session");
    driver.leave().await;
}

#[tokio::test]
async fn clients_control_the_servers_of_a_session() {
    let driver = scenario().tool_catalog(TestServers::new()).ready().open(SessionStart::New).await;
    let client = connect(&driver).await;
    let call = async |method: Method, params: Value| -> Result<Value, String> {
        match client.call(method, params).await {
            Ok(answer) => Ok(answer),
            Err(CallError::Refused(error)) => Err(error.in_one_line()),
            Err(other) => panic!("{other:?}"),
        }
    };
    let status = async || {
        let result: McpServersResult = client.call(Method::SessionMcpList, json!({})).await.unwrap();
        result.servers[0].status
    };
    call(Method::SessionMcpReconnect, json!({ "name": "calc" })).await.unwrap();
    assert_eq!(status().await, McpServerStatus::Connected);
    call(Method::SessionMcpToggle, json!({ "name": "calc", "enabled": false })).await.unwrap();
    assert_eq!(status().await, McpServerStatus::Disabled);
    let refused = call(Method::SessionMcpReconnect, json!({ "name": "calc" })).await.unwrap_err();
    assert_eq!(refused, "the MCP server `calc` is disabled; `/mcp enable calc` switches it on");
    let unknown = call(Method::SessionMcpToggle, json!({ "name": "nix", "enabled": true })).await.unwrap_err();
    assert_eq!(unknown, "the session has no MCP server `nix`; there are: calc");
    let set = json!({ "servers": { "db": { "command": "db" } } });
    assert_eq!(call(Method::SessionMcpSetServers, set).await.unwrap()["added"], json!(["db"]));
    let wrong = json!({ "servers": { "db": [null] } });
    assert!(call(Method::SessionMcpSetServers, wrong).await.is_err());
    driver.leave().await;
}
