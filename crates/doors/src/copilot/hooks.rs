//! Hooks that a client has. It is told of everything, and says nothing to what it has no hook for.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use hooks::Driver;
use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::{Value, json};

use super::audience::Audience;

/// The hook that calls wait for.
const GUARD: &str = "preToolUse";

/// What clients of this family have hooks on.
const EVENTS: [(HookEvent, &str); 13] = [
    (HookEvent::SessionStart, "sessionStart"),
    (HookEvent::SessionEnd, "sessionEnd"),
    (HookEvent::UserPromptSubmitted, "userPromptSubmitted"),
    (HookEvent::PreToolUse, GUARD),
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
const PATIENCE_MS: u64 = 600_000;

/// The hooks of every session of this door: who of its clients answers them is found when they are called.
pub(crate) fn specs() -> Vec<HookSpec> {
    let spec = |(event, id): (HookEvent, &str)| HookSpec {
        event,
        matcher: None,
        action: HookAction::Client { id: id.to_owned() },
        timeout_ms: PATIENCE_MS,
        failure: match event {
            HookEvent::PreToolUse => HookFailure::Closed,
            _other => HookFailure::Open,
        },
        dialect: HookDialect::Camel,
        source: format!("the client's {id}"),
        programs: Vec::new(),
    };
    EVENTS.into_iter().filter(|(event, _)| hooks::is_served(*event)).map(spec).collect()
}

/// Calls hooks of a session's clients.
pub(crate) struct ClientHooks {
    /// What clients call the session.
    session: String,
    audience: Arc<Audience>,
}

impl ClientHooks {
    pub(crate) fn new(session: String, audience: Arc<Audience>) -> ClientHooks {
        ClientHooks { session, audience }
    }

    async fn invoke(&self, id: &str, mut input: Value) -> Result<String, String> {
        let Some(member) = self.audience.who(|abilities| abilities.hooks) else {
            // A guard that went away has not said yes.
            return match id == GUARD && self.audience.is_forsaken() {
                true => Err("the client that has it has left; resume the session".to_owned()),
                false => Ok("{}".to_owned()),
            };
        };
        input["sessionId"] = self.session.as_str().into();
        let params = json!({ "sessionId": self.session, "hookType": id, "input": input });
        let answer = member.peer.ask("hooks.invoke", params).await.map_err(|error| error.message)?;
        match &answer["output"] {
            Value::Null => Ok("{}".to_owned()),
            output @ Value::Object(_) => Ok(output.to_string()),
            _other => Err("its answer is no object".to_owned()),
        }
    }
}

impl fmt::Debug for ClientHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the hooks of the clients of {}", self.session)
    }
}

impl Driver for ClientHooks {
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
    use rpc::{Connection, Framing, Limits};

    use super::*;
    use crate::copilot::audience::{Abilities, Member};
    use crate::copilot::peer::Peer;

    #[tokio::test]
    async fn d6_a_call_is_not_let_through_when_its_guard_has_left() {
        let (_client, door) = tokio::io::duplex(4096);
        let (input, output) = tokio::io::split(door);
        let connection = Connection::new(input, output, Framing::ContentLength, Limits::LOCAL);
        let peer = Arc::new(Peer::new(connection.outbox().clone()));
        let member = |hooks: bool| Member::new(Arc::clone(&peer), Abilities { hooks, ..Abilities::default() }).0;
        let audience = Arc::<Audience>::default();
        let hooks = ClientHooks::new("a session".to_owned(), Arc::clone(&audience));
        assert_eq!(hooks.invoke(GUARD, json!({})).await.as_deref(), Ok("{}"));
        let guard = member(true);
        audience.join(Arc::clone(&guard));
        audience.part(&guard);
        assert!(hooks.invoke(GUARD, json!({})).await.is_err());
        assert_eq!(hooks.invoke("agentStop", json!({})).await.as_deref(), Ok("{}"));
        audience.join(member(false));
        assert_eq!(hooks.invoke(GUARD, json!({})).await.as_deref(), Ok("{}"), "whoever comes next wants none");
    }
}
