//! Tools that a client runs: each call is announced to the session's clients, and waits until one of them answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::{AgentOverrides, JoinedProviders, JoinedTools};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tools::{
    BoxFuture, RequiredPermission, Tool, ToolAccess, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput,
};

use super::client_mcp_tokens::ClientMcpTokens;
use super::session_clients::{EphemeralEvent, SessionClients};

/// The calls that wait for a client's answer.
#[derive(Debug, Default)]
pub(crate) struct PendingToolCalls {
    clients: Arc<SessionClients>,
    /// The tools of clients that joined the session.
    pub(crate) joined: JoinedTools,
    /// The tokens for MCP servers that the clients supply.
    pub(crate) mcp_tokens: Arc<ClientMcpTokens>,
    /// The model providers that clients added to the running session.
    pub(crate) joined_providers: JoinedProviders,
    /// What clients decide about agents of the running session.
    pub(crate) agent_overrides: AgentOverrides,
    calls: Mutex<HashMap<String, PendingToolCall>>,
}

#[derive(Debug)]
struct PendingToolCall {
    event: EphemeralEvent,
    complete: oneshot::Sender<ClientToolResult>,
}

/// What the model reads when a tool threw an exception. Its text is left out, because it may contain anything.
const NO_DETAILS: &str = "the tool failed without details";

/// The client's result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientToolResult {
    Done(String),
    Failed(String),
    /// The user rejected what the tool was about to do.
    Rejected(String),
}

impl PendingToolCalls {
    pub(crate) fn new(clients: Arc<SessionClients>) -> PendingToolCalls {
        let mcp_tokens = Arc::new(ClientMcpTokens::new(Arc::clone(&clients)));
        PendingToolCalls { clients, mcp_tokens, ..PendingToolCalls::default() }
    }

    /// Completes a call; returns whether it was pending.
    pub(crate) fn answer(&self, request: &str, answer: ClientToolResult) -> bool {
        let pending = self.calls().remove(request);
        pending.is_some_and(|pending| pending.complete.send(answer).is_ok())
    }

    /// The id of a pending call.
    pub(crate) fn call_of(&self, request: &str) -> Option<String> {
        self.calls().get(request)?.event.content["toolCallId"].as_str().map(str::to_owned)
    }

    /// The events about pending calls, for a client that connects later.
    pub(crate) fn pending_events(&self) -> Vec<EphemeralEvent> {
        self.calls().values().map(|pending| pending.event.clone()).collect()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, PendingToolCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientToolResult {
    /// Reads `session.tools.handlePendingToolCall`.
    pub(crate) fn read(params: &Value) -> ClientToolResult {
        if !params["error"].is_null() {
            return ClientToolResult::Failed(NO_DETAILS.to_owned());
        }
        let result = &params["result"];
        let text = match result {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            Value::Object(fields) => match fields.get("textResultForLlm").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => result.to_string(),
            },
            other => other.to_string(),
        };
        match result["resultType"].as_str() {
            None | Some("success") => ClientToolResult::Done(text),
            Some("rejected") => ClientToolResult::Rejected(text),
            Some(_failed) if text.is_empty() => ClientToolResult::Failed(NO_DETAILS.to_owned()),
            Some(_failed) => ClientToolResult::Failed(text),
        }
    }
}

/// One tool that a client runs.
#[derive(Debug)]
pub(crate) struct ClientTool {
    spec: ToolDescriptor,
    /// The session's name for clients.
    session: String,
    cwd: Option<String>,
    pending: Arc<PendingToolCalls>,
    /// The permission that a call needs.
    permission: RequiredPermission,
}

impl ClientTool {
    pub(crate) fn new(
        tool: &Value,
        session: String,
        cwd: Option<String>,
        pending: Arc<PendingToolCalls>,
    ) -> ClientTool {
        let schema = match &tool["parameters"] {
            schema @ Value::Object(_) => schema.clone(),
            _absent => json!({ "type": "object", "properties": {} }),
        };
        let text = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
        let spec = ToolDescriptor {
            name: text("name").into(),
            description: text("description").into(),
            schema,
            access: ToolAccess::Other,
        };
        // Not expressed as a rule, because a rule with the tool's name could match Bosun's own tools too.
        let need = if tool["skipPermission"] == true { RequiredPermission::Session } else { RequiredPermission::Other };
        ClientTool { spec, session, cwd, pending, permission: need }
    }

    async fn call_client(&self, input: &str, cx: &ToolContext) -> Result<ClientToolResult, ToolError> {
        let request = format!("{}/{}", cx.identity.task, cx.identity.call);
        let arguments: Value = serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.to_owned()));
        let mut content = json!({
            "requestId": request,
            "sessionId": self.session,
            "toolCallId": cx.identity.call.to_string(),
            "toolName": self.spec.name,
            "arguments": arguments,
        });
        if let Some(cwd) = &self.cwd {
            content["workingDirectory"] = cwd.clone().into();
        }
        let mut event = EphemeralEvent::new("external_tool.requested", content);
        event.after = Some((cx.identity.task, cx.identity.call.clone()));
        let (complete, completed) = oneshot::channel();
        self.pending.calls().insert(request.clone(), PendingToolCall { event: event.clone(), complete });
        let _guard = PendingCallGuard { pending: &self.pending, request: &request };
        // The client may take any amount of time.
        let _paused = cx.heartbeat.pause();
        self.pending.clients.broadcast(&event);
        let answer = tokio::select! {
            answer = completed => answer.map_err(|_| ToolError::refused("no client answers this call any more"))?,
            () = cx.cancel.cancelled() => return Err(ToolError::refused("the call was cancelled")),
        };
        self.pending
            .clients
            .broadcast(&EphemeralEvent::new("external_tool.completed", json!({ "requestId": request })));
        Ok(answer)
    }
}

/// A call's entry in the pending calls, removed on drop.
struct PendingCallGuard<'a> {
    pending: &'a PendingToolCalls,
    request: &'a str,
}

impl Drop for PendingCallGuard<'_> {
    fn drop(&mut self) {
        self.pending.calls().remove(self.request);
    }
}

impl Tool for ClientTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, _input: &str, _limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![self.permission.clone()])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.call_client(input, cx).await? {
                ClientToolResult::Done(text) => Ok(ToolOutput::text(&text, cx)),
                ClientToolResult::Rejected(text) => Err(ToolError::Rejected(text).clipped(cx.limits.output_bytes)),
                ClientToolResult::Failed(text) => Err(ToolError::refused(text).clipped(cx.limits.output_bytes)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_from_text_object_or_error() {
        let read = |params: Value| ClientToolResult::read(&params);
        assert_eq!(read(json!({ "result": "yes" })), ClientToolResult::Done("yes".into()));
        let object = json!({ "result": { "textResultForLlm": "yes", "resultType": "success" } });
        assert_eq!(read(object), ClientToolResult::Done("yes".into()));
        let failed = json!({ "result": { "textResultForLlm": "", "resultType": "failure", "error": "broke" } });
        assert_eq!(read(failed), ClientToolResult::Failed(NO_DETAILS.into()));
        for thrown in [json!("broke: key=s3cret"), json!({ "message": "s3cret" }), json!(["s3cret"]), json!(5)] {
            assert_eq!(read(json!({ "error": thrown })), ClientToolResult::Failed(NO_DETAILS.into()));
            assert_eq!(
                read(json!({ "error": thrown, "result": "s3cret" })),
                ClientToolResult::Failed(NO_DETAILS.into())
            );
        }
        let failure =
            json!({ "result": { "textResultForLlm": "no such city", "resultType": "failure", "error": "s3cret" } });
        assert_eq!(read(failure), ClientToolResult::Failed("no such city".into()));
        assert_eq!(read(json!({ "result": { "other": 1 } })), ClientToolResult::Done(r#"{"other":1}"#.into()));
        assert_eq!(read(json!({})), ClientToolResult::Done(String::new()));
    }
}
