//! Hooks in the client. The client receives every event, and returns nothing for events without a hook.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use hooks::ClientHookCaller;
use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::{Value, json};

use super::session_clients::SessionClients;

/// The hook that guards tool calls.
const GUARD_HOOK: &str = "preToolUse";

/// The hook events of the Copilot SDK.
const EVENTS: [(HookEvent, &str); 15] = [
    (HookEvent::SessionStart, "sessionStart"),
    (HookEvent::SessionEnd, "sessionEnd"),
    (HookEvent::UserPromptSubmitted, "userPromptSubmitted"),
    (HookEvent::UserPromptTransformed, "userPromptTransformed"),
    (HookEvent::PreToolUse, GUARD_HOOK),
    (HookEvent::PreMcpToolCall, "preMcpToolCall"),
    (HookEvent::PostToolUse, "postToolUse"),
    (HookEvent::PostToolUseFailure, "postToolUseFailure"),
    (HookEvent::PermissionRequest, "permissionRequest"),
    (HookEvent::SubagentStart, "subagentStart"),
    (HookEvent::SubagentStop, "subagentStop"),
    (HookEvent::AgentStop, "agentStop"),
    (HookEvent::PreCompact, "preCompact"),
    (HookEvent::Notification, "notification"),
    (HookEvent::ErrorOccurred, "errorOccurred"),
];

/// How long a client's hook may take.
const HOOK_TIMEOUT_MS: u64 = 600_000;

/// The hooks of every session of this adapter. Which client answers is decided when a hook is called.
pub(crate) fn hook_specs() -> Vec<HookSpec> {
    let spec = |(event, id): (HookEvent, &str)| HookSpec {
        event,
        matcher: None,
        action: HookAction::Client { id: id.to_owned() },
        timeout_ms: HOOK_TIMEOUT_MS,
        failure: match event {
            HookEvent::PreToolUse => HookFailure::Closed,
            _other => HookFailure::Open,
        },
        dialect: HookDialect::Camel,
        source: format!("the client's {id}"),
        programs: Vec::new(),
    };
    EVENTS.into_iter().filter(|(event, _)| hooks::is_supported_event(*event)).map(spec).collect()
}

/// Calls the hooks of a session's clients.
pub(crate) struct ClientHooks {
    /// The session's name for clients.
    session: String,
    clients: Arc<SessionClients>,
}

impl ClientHooks {
    pub(crate) fn new(session: String, clients: Arc<SessionClients>) -> ClientHooks {
        ClientHooks { session, clients }
    }

    async fn invoke(&self, id: &str, mut input: Value) -> Result<String, String> {
        let Some(client) = self.clients.newest_with(|capabilities| capabilities.hooks) else {
            // A guard that is gone has not allowed the call.
            return match id == GUARD_HOOK && self.clients.has_lost_hooks() {
                true => Err("the client with the hook has left; resume the session".to_owned()),
                false => Ok("{}".to_owned()),
            };
        };
        // The SDK finds the session by the call; what the hook reads names the agent, which is the session's own or not.
        input["sessionId"] = match input["agentId"].as_str() {
            Some(agent) if !id.starts_with("subagent") => agent.into(),
            Some(_) | None => self.session.as_str().into(),
        };
        let params = json!({ "sessionId": self.session, "hookType": id, "input": input });
        let answer = client.peer.request("hooks.invoke", params).await.map_err(|error| error.message)?;
        match &answer["output"] {
            Value::Null => Ok("{}".to_owned()),
            output @ Value::Object(_) => Ok(output.to_string()),
            _other => Err("the hook's answer is not a JSON object".to_owned()),
        }
    }
}

impl fmt::Debug for ClientHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the hooks of the clients of {}", self.session)
    }
}

impl ClientHookCaller for ClientHooks {
    fn call<'a>(
        &'a self,
        id: &'a str,
        payload: Value,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>> {
        Box::pin(self.invoke(id, payload))
    }
}

#[cfg(test)]
mod tests {
    use rpc::{Connection, ConnectionLimits, Framing};

    use super::*;
    use crate::copilot::peer::ClientPeer;
    use crate::copilot::session_clients::{ClientCapabilities, SessionClient};

    #[tokio::test]
    async fn a_call_is_denied_when_the_client_with_its_hook_has_left() {
        let (_client, adapter) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(adapter);
        let connection = Connection::new(input, output, Framing::ContentLength, ConnectionLimits::LOCAL);
        let peer = Arc::new(ClientPeer::new(connection.outbox().clone()));
        let client = |hooks: bool| {
            SessionClient::new(Arc::clone(&peer), ClientCapabilities { hooks, ..ClientCapabilities::default() }).0
        };
        let clients = Arc::<SessionClients>::default();
        let hooks = ClientHooks::new("a session".to_owned(), Arc::clone(&clients));
        assert_eq!(hooks.invoke(GUARD_HOOK, json!({})).await.as_deref(), Ok("{}"));
        let guard = client(true);
        clients.add(Arc::clone(&guard));
        clients.remove(&guard);
        assert!(hooks.invoke(GUARD_HOOK, json!({})).await.is_err());
        assert_eq!(hooks.invoke("agentStop", json!({})).await.as_deref(), Ok("{}"));
        clients.add(client(false));
        assert_eq!(hooks.invoke(GUARD_HOOK, json!({})).await.as_deref(), Ok("{}"), "the next client has no hooks");
    }
}
