//! The messages of the user that a session can go back to, read from its log.

use std::collections::HashMap;

use protocol::api::{RewindPoint, RewindPoints};
use protocol::diff::LineCounts;
use protocol::{CallId, Clip, Envelope, Event, MailId, Principal, TaskId, Timestamp};
use store::{SessionReader, StoreError};

use super::plan::{PlacedChange, place_changes, plan_files};
use super::rewind::{RewindError, Rewinder, RewoundFile, text_of};
use crate::session_context::SessionContext;

/// Maximum bytes of a message's text.
const MAX_TEXT_BYTES: usize = 2 << 10;

/// How many events are read at a time.
const EVENTS_PER_PAGE: usize = 512;

/// What going back needs to know of a session's log.
#[derive(Debug, Default)]
pub(super) struct RewindLog {
    messages: Vec<UserMessage>,
    /// The event with which each call started.
    pub(super) calls: HashMap<(TaskId, CallId), u64>,
    /// The last event.
    pub(super) last_seq: u64,
    unread: HashMap<MailId, String>,
}

#[derive(Debug)]
struct UserMessage {
    after: u64,
    at: Timestamp,
    text: String,
    is_compacted: bool,
}

impl RewindLog {
    pub(super) fn read(reader: &SessionReader, root: TaskId) -> Result<RewindLog, StoreError> {
        let mut log = RewindLog::default();
        loop {
            let page = reader.events_after(log.last_seq, EVENTS_PER_PAGE)?;
            if page.is_empty() {
                return Ok(log);
            }
            page.iter().for_each(|envelope| log.apply_event(envelope, root));
        }
    }

    fn apply_event(&mut self, envelope: &Envelope, root: TaskId) {
        self.last_seq = envelope.seq;
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::CallStarted { call } => {
                self.calls.entry((task, call.clone())).or_insert(envelope.seq);
            }
            Event::MailAdmitted { mail, from: Principal::User, body, .. } if task == root => {
                let text = body.display_text().unwrap_or_default();
                self.unread.insert(*mail, Clip::new(text, MAX_TEXT_BYTES).into_string());
            }
            Event::MailDelivered { mail } if task == root => {
                let texts: Vec<String> = mail.iter().filter_map(|mail| self.unread.remove(mail)).collect();
                if !texts.is_empty() {
                    let after = envelope.seq.saturating_sub(1);
                    let (at, text) = (envelope.entry.at, texts.join("\n"));
                    self.messages.push(UserMessage { after, at, text, is_compacted: false });
                }
            }
            Event::Compacted(_) if task == root => {
                self.messages.iter_mut().for_each(|message| message.is_compacted = true);
            }
            Event::ConversationCut { after } if task == root => {
                self.messages.retain(|message| message.after < *after);
            }
            _other => {}
        }
    }
}

/// The messages of the user that the session can go back to. It reads files, so it blocks.
pub(crate) fn rewind_points(context: &SessionContext, root: TaskId) -> Result<RewindPoints, RewindError> {
    let log = RewindLog::read(&context.log.reader()?, root)?;
    let rewinder = Rewinder::new(context);
    let changes = place_changes(rewinder.history().changes()?, &log.calls);
    let ends = log.messages.iter().skip(1).map(|message| message.after).chain([u64::MAX]);
    let mut ends: Vec<u64> = ends.collect();
    ends.truncate(log.messages.len());
    let points = log.messages.into_iter().zip(ends).map(|(message, end)| {
        let since: Vec<RewoundFile> = rewinder.files(&changes, message.after);
        let turn = turn_counts(&rewinder, &changes, (message.after, end));
        RewindPoint {
            after: message.after,
            at: message.at,
            text: message.text,
            cuts_conversation: !message.is_compacted,
            files: count(since.len()),
            restorable: count(since.iter().filter(|file| file.obstacle.is_none()).count()),
            turn_files: turn.0,
            lines_added: turn.1.added,
            lines_removed: turn.1.removed,
        }
    });
    Ok(RewindPoints { points: points.collect() })
}

/// How many files were changed between two events, and by how many lines.
fn turn_counts(rewinder: &Rewinder<'_>, changes: &[PlacedChange], (after, end): (u64, u64)) -> (u64, LineCounts) {
    let until: Vec<PlacedChange> = changes.iter().filter(|change| change.seq <= end).cloned().collect();
    let later = plan_files(changes, end);
    let mut total = LineCounts::default();
    let plans = plan_files(&until, after);
    for (path, plan) in &plans {
        // What the turn left is what the next change found.
        let left = later.get(path).map_or(&plan.last, |later| &later.target);
        let (old, new) = (text_of(rewinder, path, &plan.target), text_of(rewinder, path, left));
        let counts = old.zip(new).map(|(old, new)| LineCounts::of(&old, &new)).unwrap_or_default();
        (total.added, total.removed) = (total.added + counts.added, total.removed + counts.removed);
    }
    (count(plans.len()), total)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
