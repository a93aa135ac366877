//! One event in the SDK's format.

use protocol::{SessionId, TaskId, Timestamp, Turn};
use serde_json::{Value, json};
use uuid::{Builder, Uuid};

/// One event, without its id and parent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CopilotEvent {
    pub(crate) kind: &'static str,
    pub(crate) content: Value,
    /// The agent that it is about; none for the root.
    pub(crate) agent: Option<TaskId>,
    /// Whether it is only sent, and not part of the history.
    pub(crate) ephemeral: bool,
}

impl CopilotEvent {
    /// An event that is part of the history.
    pub(crate) fn persistent(kind: &'static str, content: Value) -> CopilotEvent {
        CopilotEvent { kind, content, agent: None, ephemeral: false }
    }

    /// An event that is only sent.
    pub(crate) fn transient(kind: &'static str, content: Value) -> CopilotEvent {
        CopilotEvent { kind, content, agent: None, ephemeral: true }
    }

    pub(crate) fn for_agent(self, agent: Option<TaskId>) -> CopilotEvent {
        CopilotEvent { agent, ..self }
    }

    /// Adds id, parent and time.
    pub(crate) fn into_envelope(self, id: Uuid, parent: Option<Uuid>, at: Timestamp) -> Value {
        let mut event = json!({
            "id": id.to_string(),
            "timestamp": at.to_string(),
            "parentId": parent.map(|parent| parent.to_string()),
            "type": self.kind,
            "data": self.content,
        });
        if self.ephemeral {
            event["ephemeral"] = true.into();
        }
        if let Some(agent) = self.agent {
            event["agentId"] = agent.to_string().into();
        }
        event
    }
}

/// Maximum number of events for one log entry.
const PARTS: u64 = 256;

/// The id of one event of a log entry.
pub(super) fn event_id(session: SessionId, seq: u64, part: u64) -> Uuid {
    mixed(session.uuid(), seq.wrapping_mul(PARTS) + part % PARTS)
}

/// The id of an agent's message in a turn, known while it is still being streamed.
pub(crate) fn message_id(task: TaskId, turn: Turn) -> String {
    mixed(task.uuid(), u64::from(turn.0)).to_string()
}

/// Derives an id from a base id and a number.
fn mixed(base: Uuid, number: u64) -> Uuid {
    Builder::from_custom_bytes((base.as_u128() ^ u128::from(number)).to_be_bytes()).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_every_time_and_differ() {
        let session = SessionId::new(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001));
        let ids: std::collections::BTreeSet<_> =
            (1..50).flat_map(|seq| (0..4).map(move |part| event_id(session, seq, part))).collect();
        assert_eq!(ids.len(), 49 * 4);
        assert_eq!(event_id(session, 7, 1), event_id(session, 7, 1));
    }
}
