//! Many callers of one server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use host::Workspace;
use net::NetworkRoute;
use net::fetch::{AddressGate, FetchLimits, PageFetcher};
use protocol::CallId;
use serde_json::json;
use testkit::mcp::ScriptedMcpProgram;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tools::{
    CallIdentity, FileAccess, FileAccessGuard, FileStamps, Heartbeat, ToolCatalog, ToolContext, ToolError, ToolLimits,
};

use crate::servers::{program, servers, test_guardian};

/// The calls of servers' tools reach no files and no pages.
#[derive(Debug)]
struct NoAccess;

impl FileAccessGuard for NoAccess {
    fn check(&self, _path: &Path, _access: FileAccess) -> Result<(), ToolError> {
        Err(ToolError::refused("no file"))
    }
}

impl AddressGate for NoAccess {
    fn may_connect(&self, _host: &str, _address: SocketAddr) -> bool {
        false
    }
}

const CALLS: u64 = 200;

#[tokio::test]
async fn calls_are_sent_in_the_order_in_which_they_arrive() {
    let server = ScriptedMcpProgram::new(json!({}));
    let (servers, guardian) = (servers(program(&server)), test_guardian());
    let folder = tempfile::tempdir().unwrap();
    let workspace = Arc::new(Workspace::new(folder.path(), &[]).unwrap());
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let tool = servers.tool("mcp__calc__add").unwrap();
        let cx = ToolContext {
            identity: CallIdentity {
                task: "task-00000000000000000000000000000001".parse().unwrap(),
                call: CallId(format!("c{number}")),
            },
            workspace: Arc::clone(&workspace),
            access_guard: Arc::new(NoAccess),
            stamps: Arc::new(FileStamps::new()),
            file_changes: None,
            guardian: guardian.clone(),
            env: Arc::default(),
            cancel: CancellationToken::new(),
            heartbeat: Heartbeat::default(),
            limits: ToolLimits::default(),
            session: None,
            fetcher: PageFetcher::new(NetworkRoute::default(), FetchLimits::default()),
            address_gate: Arc::new(NoAccess),
        };
        calls.spawn(async move {
            let answer = tool.run(&json!({ "a": number, "b": 1 }).to_string(), &cx).await;
            (number, answer)
        });
    }
    while let Some(call) = calls.join_next().await {
        let (number, answer) = call.unwrap();
        assert_eq!(answer.unwrap().text.as_str(), format!("the sum is {}", number + 1));
    }
    let sent: Vec<Option<u64>> =
        server.heard("tools/call").iter().map(|call| call["params"]["arguments"]["a"].as_u64()).collect();
    assert_eq!(sent, (0..CALLS).map(Some).collect::<Vec<_>>());
    assert_eq!(server.pids().len(), 1);
}
