//! Transcripts for hooks: the messages of each agent as JSON Lines, in the form that existing hook scripts expect:
//! `user` and `assistant` with a message, and `system` for everything else.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use protocol::{ContentBlock, Envelope, Event, MailBody, MailId, Principal, TaskId};
use serde_json::{Value, json};
use store::StoreError;

use crate::conversation::ResultFormatter;
use crate::session_context::SessionContext;

/// Why a transcript was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum TranscriptError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{path} cannot be written: {source}; hooks may read an older version")]
    File { path: String, source: io::Error },
}

/// The transcript writers of a session's agents.
#[derive(Debug, Default)]
pub(super) struct TranscriptWriters(Mutex<HashMap<TaskId, Arc<Mutex<TranscriptWriter>>>>);

/// The progress of one transcript.
#[derive(Debug, Default)]
struct TranscriptWriter {
    /// The number of the last event that was written.
    seq: u64,
    /// Mail that is not delivered yet.
    unread: BTreeMap<MailId, (Principal, MailBody)>,
}

impl TranscriptWriters {
    /// The path of an agent's transcript.
    pub(super) fn path(context: &SessionContext, task: TaskId) -> PathBuf {
        context.facts.home.session_dir(context.facts.session).join("transcripts").join(format!("{task}.jsonl"))
    }

    /// Writes an agent's transcript up to the last committed event; returns that event's number.
    pub(super) fn write(&self, context: &SessionContext, task: TaskId) -> Result<u64, TranscriptError> {
        let writer = Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(task).or_default());
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let path = TranscriptWriters::path(context, task);
        if !path.exists() {
            *writer = TranscriptWriter::default();
        }
        let log = context.log.reader()?.task_events_after(task, writer.seq)?;
        let mut lines = String::new();
        let is_new = writer.seq == 0;
        for envelope in &log {
            for line in writer.lines(envelope, context) {
                lines.push_str(&line.to_string());
                lines.push('\n');
            }
            writer.seq = envelope.seq;
        }
        append(&path, &lines, is_new).map_err(|source| {
            // The content of the file is unknown; the next write starts from the beginning.
            *writer = TranscriptWriter::default();
            TranscriptError::File { path: path.display().to_string(), source }
        })?;
        Ok(writer.seq)
    }
}

fn append(path: &Path, lines: &str, is_new: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    if is_new {
        options.write(true).truncate(true)
    } else {
        options.append(true)
    };
    options.open(path)?.write_all(lines.as_bytes())
}

impl TranscriptWriter {
    fn lines(&mut self, envelope: &Envelope, context: &SessionContext) -> Vec<Value> {
        let line = |kind: &str, rest: Value| {
            let mut line = json!({
                "type": kind,
                "sessionId": envelope.session.to_string(),
                "agentId": envelope.entry.task.to_string(),
                "timestamp": envelope.entry.at.to_string(),
                "sequence": envelope.seq,
            });
            if let (Value::Object(line), Value::Object(rest)) = (&mut line, rest) {
                line.extend(rest);
            }
            line
        };
        let user = |from: &str, content: Value| {
            line("user", json!({ "from": from, "message": { "role": "user", "content": content } }))
        };
        match &envelope.entry.event {
            Event::MailAdmitted { mail, from, body, .. } => {
                self.unread.insert(*mail, (*from, body.clone()));
                Vec::new()
            }
            Event::MailDelivered { mail } => {
                let delivered = mail.iter().filter_map(|mail| self.unread.remove(mail));
                delivered.map(|(from, body)| user(&origin_name(from), body_text(&body, context).into())).collect()
            }
            Event::StartHooksRan { context, .. } => {
                context.iter().map(|text| user("hook", text.as_str().into())).collect()
            }
            Event::TurnAnswered { content, model, .. } => {
                let content: Vec<Value> = content.iter().filter_map(block_json).collect();
                let message = json!({ "role": "assistant", "model": model, "content": content });
                vec![line("assistant", json!({ "message": message }))]
            }
            Event::CallAnswered { call, answer, .. } => {
                let content = json!([{
                    "type": "tool_result",
                    "tool_use_id": call.0,
                    "content": answer.text,
                    "is_error": answer.status.is_error(),
                }]);
                vec![user("tool", content)]
            }
            other => vec![line("system", json!({ "event": serde_json::to_value(other).unwrap_or_default() }))],
        }
    }
}

fn origin_name(from: Principal) -> String {
    match from {
        Principal::User => "user".into(),
        Principal::Task { id } => id.to_string(),
        Principal::Runtime => "runtime".into(),
    }
}

fn body_text(body: &MailBody, context: &SessionContext) -> String {
    match body {
        MailBody::Text { text, .. } => text.clone(),
        MailBody::Result { task, activation } => context.log.format_result(*task, *activation),
    }
}

fn block_json(block: &ContentBlock) -> Option<Value> {
    match block {
        ContentBlock::Text { text } => Some(json!({ "type": "text", "text": text })),
        ContentBlock::Thinking { text } => Some(json!({ "type": "thinking", "thinking": text })),
        ContentBlock::Call(call) => {
            let input = serde_json::from_str(&call.input).unwrap_or_else(|_| Value::String(call.input.clone()));
            Some(json!({ "type": "tool_use", "id": call.id.0, "name": call.tool, "input": input }))
        }
        ContentBlock::Opaque { .. } => None,
    }
}
