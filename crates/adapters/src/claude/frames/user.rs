//! Tool results and user messages.

use protocol::{CallId, MailId, ToolResult, ToolResultStatus};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{FrameSource, frame_id};

/// A tool's result.
pub(in crate::claude) fn tool_result_frame(
    session: Uuid,
    seq: u64,
    call: &CallId,
    answer: &ToolResult,
    source: &FrameSource,
) -> Value {
    let is_error = !matches!(answer.status, ToolResultStatus::Done);
    let mut block = json!({ "type": "tool_result", "tool_use_id": call, "content": answer.text });
    if is_error {
        block["is_error"] = json!(true);
    }
    let mut frame = json!({
        "type": "user", "message": { "role": "user", "content": [block] }, "session_id": session,
        "uuid": frame_id(session, seq, 0),
    });
    source.annotate(&mut frame);
    if source.parent_call.is_none() {
        frame["tool_use_result"] = if is_error { json!(format!("Error: {}", answer.text)) } else { json!(answer.text) };
    }
    frame
}

/// Reports that the user interrupted the turn.
pub(in crate::claude) fn interrupted_frame(session: Uuid) -> Value {
    json!({
        "type": "user", "parent_tool_use_id": null, "session_id": session, "uuid": Uuid::now_v7(), "isSynthetic": true,
        "message": { "role": "user", "content": [{ "type": "text", "text": "[The user interrupted the turn]" }] },
    })
}

/// Reports that the client cleared the conversation, and that another one follows.
pub(in crate::claude) fn reset_frame(session: Uuid, next: Uuid, message: Option<&str>) -> Value {
    let mut frame = json!({
        "type": "conversation_reset", "new_conversation_id": next, "uuid": Uuid::now_v7(), "session_id": session,
        "trigger": "clear",
    });
    if let Some(message) = message {
        frame["user_message_uuid"] = json!(message);
    }
    frame
}

/// What the user may say next.
pub(in crate::claude) fn suggestion_frame(session: Uuid, suggestion: &str) -> Value {
    json!({ "type": "prompt_suggestion", "suggestion": suggestion, "uuid": Uuid::now_v7(), "session_id": session })
}

/// The part of an id that says that the rest is the number of a piece of mail, not that of an event.
pub(in crate::claude) const REPLAYED_MAIL: u16 = u16::MAX;

/// A message of the client, replayed to it. Without an id of the client, it has the one that the session gave it.
pub(in crate::claude) fn replay_frame(session: Uuid, mut frame: Value, mail: MailId) -> Value {
    frame["session_id"] = json!(session);
    frame["isReplay"] = json!(true);
    if frame["uuid"].is_null() {
        frame["uuid"] = json!(frame_id(session, mail.0, REPLAYED_MAIL));
    }
    frame
}
