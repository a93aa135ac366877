//! `session.history.*`: shortening, cutting and summarizing the conversation.

use protocol::api::{
    ContextView, CutConversationParams, FileChangeKind, FileRewind, InvokeSlashParams, InvokeSlashResult, Method,
    RestoreObstacle, RewindParams, RewindPoints, RewindPreview, RewindPreviewParams, RewindResult, RewindScope,
    SendParams, SendResult, SkippedFile,
};
use protocol::{Clip, MailDelivery};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::model::REPORTED_CONTEXT_TOKENS;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::history::{self, NumberedEvent};
use crate::copilot::hosted_session::HostedSession;

/// Maximum bytes of one message in a summary.
const SUMMARY_MESSAGE_BYTES: usize = 2 << 10;

/// How many messages a summary has: the first one, and the latest.
const SUMMARY_MESSAGES: usize = 40;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.history.compact" => compact(session).await,
        "session.history.truncate" => {
            let removed = truncate(session, required_text(&params, "eventId")?).await?;
            Ok(json!({ "eventsRemoved": removed }))
        }
        "session.history.rewind" => rewind(session, &params).await,
        "session.history.listRewindPoints" => {
            if session.is_busy() {
                return Ok(json!({ "fileChangeTrackingEnabled": true, "unavailableReason": BUSY, "points": [] }));
            }
            let known: RewindPoints = session.call(Method::RewindPointsList, json!({})).await?;
            let events = events(session).await?;
            let points: Vec<Value> = events.iter().filter_map(|event| rewind_point(event, &known)).collect();
            Ok(json!({ "fileChangeTrackingEnabled": true, "points": points }))
        }
        "session.history.previewRewind" => preview(session, required_text(&params, "eventId")?).await,
        "session.history.clearContext" => clear(session, required_text(&params, "prompt")?).await,
        "session.history.summarizeForHandoff" => Ok(json!({ "summary": summary(&events(session).await?) })),
        // A compaction needs no model request, so it is never in progress.
        "session.history.cancelBackgroundCompaction" => Ok(json!({ "cancelled": false })),
        "session.history.abortManualCompaction" => Ok(json!({ "aborted": false })),
        other => Err(unhandled(other)),
    }
}

/// Why the session cannot go back now.
const BUSY: &str = "session-busy";

async fn events(session: &HostedSession) -> Result<Vec<NumberedEvent>, ErrorObject> {
    history::numbered_events(session.home(), session.id()).await
}

/// Compacts the conversation of an idle session at once, otherwise before the next turn.
async fn compact(session: &HostedSession) -> Result<Value, ErrorObject> {
    let before: ContextView = session.call(Method::ContextGet, json!({})).await?;
    let last = events(session).await?.last().map_or(0, |(seq, _)| *seq);
    session.emit(
        "session.compaction_start",
        json!({ "conversationTokens": before.message_tokens, "systemTokens": before.system_tokens }),
    );
    let command = InvokeSlashParams { name: "compact".to_owned(), input: String::new() };
    let _done: InvokeSlashResult = session.call(Method::CommandsInvoke, command).await?;
    let after: ContextView = session.call(Method::ContextGet, json!({})).await?;
    let new = events(session).await?;
    let compaction = new.iter().find(|(seq, event)| *seq > last && event["type"] == "session.compaction_complete");
    let content = compaction.map_or(&Value::Null, |(_, event)| &event["data"]);
    let mut result = json!({
        "success": true,
        "tokensRemoved": before.message_tokens.saturating_sub(after.message_tokens),
        "messagesRemoved": content["messagesRemoved"].as_u64().unwrap_or_default(),
        "contextWindow": {
            "tokenLimit": after.window.unwrap_or(REPORTED_CONTEXT_TOKENS),
            "currentTokens": after.system_tokens + after.tool_tokens + after.message_tokens,
            "messagesLength": after.messages,
            "systemTokens": after.system_tokens,
            "conversationTokens": after.message_tokens,
            "toolDefinitionsTokens": after.tool_tokens,
        },
    });
    if let Some(summary) = content["summaryContent"].as_str() {
        result["summaryContent"] = summary.into();
    }
    Ok(result)
}

/// Removes an event and all later ones from the conversation and from the history; returns the number of removed events.
async fn truncate(session: &HostedSession, event: &str) -> Result<usize, ErrorObject> {
    let events = events(session).await?;
    let after = cut_before(&events, event)?;
    let _done: Value = session.call(Method::ConversationCut, CutConversationParams { after }).await?;
    Ok(report_cut(session, event, (&events, after)))
}

/// Reports that the history ends before an event; returns the number of removed events.
fn report_cut(session: &HostedSession, event: &str, (events, after): (&[NumberedEvent], u64)) -> usize {
    let removed = events.iter().filter(|(seq, _)| *seq > after).count();
    session.emit("session.snapshot_rewind", json!({ "upToEventId": event, "eventsRemoved": removed }));
    removed
}

/// The number of the last log entry before an event, which must be a message of the user.
pub(crate) fn cut_before(events: &[NumberedEvent], id: &str) -> Result<u64, ErrorObject> {
    let found = events.iter().find(|(_, event)| event["id"] == id);
    let (seq, event) = found.ok_or_else(|| ErrorObject::internal(format!("Event {id} not found")))?;
    match event["type"] == "user.message" && event["agentId"].is_null() {
        true => Ok(seq.saturating_sub(1)),
        false => Err(ErrorObject::internal(format!("event {id} is not a message of the user: name one that is"))),
    }
}

/// What going back before an event would do to files.
async fn preview(session: &HostedSession, event: &str) -> Result<Value, ErrorObject> {
    if session.is_busy() {
        return Ok(json!({ "available": false, "reason": BUSY, "fileCount": 0, "files": [] }));
    }
    let after = cut_before(&events(session).await?, event)?;
    let preview: RewindPreview = session.call(Method::RewindPreview, RewindPreviewParams { after }).await?;
    let restorable = preview.files.iter().filter(|file| file.obstacle.is_none());
    let files: Vec<Value> = restorable.map(file_preview).collect();
    Ok(json!({ "available": true, "fileCount": files.len(), "files": files }))
}

fn file_preview(file: &FileRewind) -> Value {
    let change = match file.change {
        FileChangeKind::Created => "created",
        FileChangeKind::Removed => "deleted",
        FileChangeKind::Changed => "modified",
    };
    json!({
        "path": file.path, "changeType": change, "linesAdded": file.lines_added, "linesRemoved": file.lines_removed,
    })
}

/// Goes back before an event: in the conversation, and in files if the client wants that.
async fn rewind(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let event = required_text(params, "eventId")?;
    let scope = match required_text(params, "mode")? {
        "conversation" => RewindScope::Conversation,
        "conversation-and-files" => RewindScope::Everything,
        other => return Err(ErrorObject::bad_params(format_args!("unknown mode `{other}`"))),
    };
    if session.is_busy() {
        return Ok(json!({ "outcome": BUSY, "restoredFiles": [], "skippedFiles": [] }));
    }
    let events = events(session).await?;
    let after = cut_before(&events, event)?;
    let done: RewindResult = session.call(Method::RewindApply, RewindParams { after, scope }).await?;
    let removed = report_cut(session, event, (&events, after));
    let skipped: Vec<Value> = done.skipped.iter().map(skipped_file).collect();
    Ok(json!({
        "outcome": "success", "eventsRemoved": removed, "restoredFiles": done.restored, "skippedFiles": skipped,
    }))
}

fn skipped_file(file: &SkippedFile) -> Value {
    // The protocol has two reasons: the file is the user's, or there is nothing to restore it from.
    let reason = match file.obstacle {
        RestoreObstacle::ChangedSince | RestoreObstacle::Forbidden | RestoreObstacle::Unreachable => "user-modified",
        RestoreObstacle::NotKept => "skipped-capture",
    };
    json!({ "path": file.path, "reason": reason })
}

/// A message of the user before which the conversation can be cut.
fn rewind_point((seq, event): &NumberedEvent, known: &RewindPoints) -> Option<Value> {
    let content = &event["data"];
    let is_message = event["type"] == "user.message" && event["agentId"].is_null() && content["source"].is_null();
    let point = known.points.iter().find(|point| point.after == seq.saturating_sub(1) && point.cuts_conversation)?;
    is_message.then(|| {
        json!({
            "eventId": event["id"],
            "userMessage": content["content"],
            "timestamp": event["timestamp"],
            "canRestoreFiles": point.restorable > 0,
            "fileCount": point.files,
            "turnChangedFiles": point.turn_files > 0,
            "linesAdded": point.lines_added,
            "linesRemoved": point.lines_removed,
            "isAutopilotContinuation": content["isAutopilotContinuation"] == true,
        })
    })
}

/// Removes the whole conversation, and sends a first message.
async fn clear(session: &HostedSession, prompt: &str) -> Result<Value, ErrorObject> {
    let events = events(session).await?;
    let is_message =
        |event: &Value| event["agentId"].is_null() && ["user.message", "assistant.message"].contains(&kind(event));
    let cleared = events.iter().filter(|(_, event)| is_message(event)).count();
    if let Some((seq, _)) = events.iter().find(|(_, event)| kind(event) == "user.message" && is_message(event)) {
        let cut = CutConversationParams { after: seq.saturating_sub(1) };
        let _done: Value = session.call(Method::ConversationCut, cut).await?;
    }
    session.emit("session.context_cleared", json!({ "messagesCleared": cleared, "initialMessage": prompt }));
    let message = SendParams {
        task: None,
        text: prompt.to_owned(),
        images: Vec::new(),
        delivery: MailDelivery::FollowUp,
        display: None,
    };
    let _receipt: SendResult = session.call(Method::SessionSend, message).await?;
    Ok(json!({ "messagesCleared": cleared }))
}

/// The conversation in short, for another agent: what the user and the root said, without tool calls.
fn summary(events: &[NumberedEvent]) -> String {
    let message = |event: &Value| {
        let who = match kind(event) {
            "user.message" => "User",
            "assistant.message" => "Agent",
            _other => return None,
        };
        let text = event["data"]["content"].as_str().filter(|text| !text.trim().is_empty())?;
        event["agentId"].is_null().then(|| format!("**{who}:** {}", Clip::new(text, SUMMARY_MESSAGE_BYTES)))
    };
    let mut messages: Vec<String> = events.iter().filter_map(|(_, event)| message(event)).collect();
    if messages.len() > SUMMARY_MESSAGES {
        let left_out = messages.len() - SUMMARY_MESSAGES;
        messages.splice(1..=left_out, [format!("({left_out} messages are left out.)")]);
    }
    messages.join("\n\n")
}

fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use protocol::api::RewindPoint;

    use super::*;

    fn said(seq: u64, kind: &str, text: &str) -> NumberedEvent {
        (seq, json!({ "id": format!("e{seq}"), "type": kind, "data": { "content": text } }))
    }

    #[test]
    fn a_conversation_is_cut_before_a_message_of_the_user() {
        let events = [said(3, "session.start", ""), said(7, "user.message", "a"), said(9, "assistant.message", "b")];
        assert_eq!(cut_before(&events, "e7").unwrap(), 6);
        assert!(cut_before(&events, "e9").unwrap_err().message.contains("not a message of the user"));
        assert_eq!(cut_before(&events, "other").unwrap_err().message, "Event other not found");
        let point = RewindPoint {
            after: 6,
            at: protocol::Timestamp(0),
            text: "a".into(),
            cuts_conversation: true,
            files: 2,
            restorable: 1,
            turn_files: 0,
            lines_added: 0,
            lines_removed: 0,
        };
        let compacted = RewindPoint { cuts_conversation: false, ..point.clone() };
        let points = |point| {
            let known = RewindPoints { points: vec![point] };
            events.iter().filter_map(|event| rewind_point(event, &known)).collect::<Vec<_>>()
        };
        let listed = points(point);
        assert_eq!((listed.len(), &listed[0]["eventId"], &listed[0]["fileCount"]), (1, &json!("e7"), &json!(2)));
        assert_eq!((&listed[0]["canRestoreFiles"], points(compacted).len()), (&json!(true), 0));
    }

    #[test]
    fn a_summary_is_short() {
        assert_eq!(summary(&[said(1, "session.start", "")]), "");
        let two = [said(1, "user.message", "Why?"), said(2, "assistant.message", "Because.")];
        assert_eq!(summary(&two), "**User:** Why?\n\n**Agent:** Because.");
        let many: Vec<_> = (0..100).map(|seq| said(seq, "user.message", "x")).collect();
        let short = summary(&many);
        assert_eq!(short.matches("**User:**").count(), SUMMARY_MESSAGES);
        assert!(short.contains("(60 messages are left out.)"), "{short}");
    }
}
