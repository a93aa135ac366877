//! The entries of a transcript file.

use protocol::{CallId, MailBody, Principal, StopReason, TaskId, Timestamp, ToolResult, ToolResultStatus, Usage};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::claude::frames::{VERSION, stop_reason, usage_json};

/// The fields that all entries of a file share.
#[derive(Debug, Clone)]
pub(super) struct EntryHeader {
    pub(super) session: Uuid,
    pub(super) cwd: String,
    /// The agent whose file it is; none for the root.
    pub(super) agent: Option<TaskId>,
}

/// The position of an entry in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryPosition {
    pub(super) uuid: Uuid,
    /// The entry before it.
    pub(super) parent: Option<Uuid>,
    pub(super) at: Timestamp,
}

impl EntryHeader {
    fn entry(&self, position: EntryPosition, kind: &str, message: Value) -> Value {
        let mut line = json!({
            "parentUuid": position.parent,
            "isSidechain": self.agent.is_some(),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": VERSION,
            "type": kind,
            "message": message,
            "uuid": position.uuid,
            "timestamp": position.at.to_string(),
        });
        if let Some(agent) = self.agent {
            line["agentId"] = agent.to_string().into();
        }
        line
    }

    /// A message to the agent. Messages that are not from a person are marked, so that they are not shown as prompts.
    pub(super) fn mail_entry(&self, position: EntryPosition, from: Principal, body: &MailBody) -> Value {
        let content: Value = match body {
            MailBody::Text { text, images, .. } if images.is_empty() => text.clone().into(),
            MailBody::Text { text, images, .. } => {
                let image_block = |image: &protocol::Image| {
                    let source = json!({ "type": "base64", "media_type": image.media, "data": image.data });
                    json!({ "type": "image", "source": source })
                };
                let texts = [json!({ "type": "text", "text": text })];
                texts.into_iter().chain(images.iter().map(image_block)).collect()
            }
            MailBody::Result { task, .. } => format!("The task {task} has ended.").into(),
        };
        let mut line = self.entry(position, "user", json!({ "role": "user", "content": content }));
        let is_prompt = from == Principal::User || (self.agent.is_some() && matches!(body, MailBody::Text { .. }));
        if !is_prompt {
            line["isMeta"] = true.into();
        }
        if let MailBody::Result { .. } = body {
            line["origin"] = json!({ "kind": "task-notification" });
        }
        line
    }

    /// One block of a model's answer.
    pub(super) fn block_entry(&self, position: EntryPosition, answer: &AnswerMetadata<'_>, block: &Value) -> Value {
        let message = json!({
            "id": answer.id,
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": [block],
            "stop_reason": stop_reason(answer.stop),
            "stop_sequence": null,
            "usage": usage_json(answer.usage),
        });
        self.entry(position, "assistant", message)
    }

    /// The result of a tool call.
    pub(super) fn result_entry(&self, position: EntryPosition, call: &CallId, answer: &ToolResult) -> Value {
        let failed = answer.status != ToolResultStatus::Done;
        let block = json!({ "type": "tool_result", "tool_use_id": call, "content": answer.text, "is_error": failed });
        let mut line = self.entry(position, "user", json!({ "role": "user", "content": [block] }));
        line["toolUseResult"] = match failed {
            true => format!("Error: {}", answer.text).into(),
            false => answer.text.clone().into(),
        };
        line
    }
}

/// The fields that all entries of one model answer share.
#[derive(Debug)]
pub(super) struct AnswerMetadata<'a> {
    pub(super) id: String,
    pub(super) model: &'a str,
    pub(super) stop: StopReason,
    pub(super) usage: Usage,
}
