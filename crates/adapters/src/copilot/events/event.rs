//! One event in the SDK's format.

use protocol::{SessionId, TaskId, Timestamp, Turn};
use serde_json::{Value, json};
use uuid::{Builder, Uuid};

/// One event, without its id, parent and time.
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
    pub(crate) fn into_json(self, id: Uuid, parent: Option<Uuid>, at: Timestamp) -> Value {
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

/// Up to this many events of one log entry have different ids; ids repeat after that.
const MAX_EVENTS_PER_ENTRY: u64 = 256;

/// The id of an event, which is the one at `index` among the events of log entry `seq`.
pub(super) fn event_id(session: SessionId, seq: u64, index: u64) -> Uuid {
    derived_id(session.uuid(), seq.wrapping_mul(MAX_EVENTS_PER_ENTRY) + index % MAX_EVENTS_PER_ENTRY)
}

/// The id of an agent's message in a turn, known while it is still being streamed.
pub(crate) fn message_id(task: TaskId, turn: Turn) -> String {
    derived_id(task.uuid(), u64::from(turn.0)).to_string()
}

/// Derives an id from a base id and a number.
fn derived_id(base: Uuid, number: u64) -> Uuid {
    Builder::from_custom_bytes((base.as_u128() ^ u128::from(number)).to_be_bytes()).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_are_stable_and_unique() {
        let session = SessionId::new(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001));
        let ids: std::collections::BTreeSet<_> =
            (1..50).flat_map(|seq| (0..4).map(move |index| event_id(session, seq, index))).collect();
        assert_eq!(ids.len(), 49 * 4);
        assert_eq!(event_id(session, 7, 1), event_id(session, 7, 1));
    }
}
