//! Resuming a session at an earlier message: finds the place where its conversation is cut.

use std::collections::HashMap;

use client::SessionHandle;
use host::Home;
use protocol::{Envelope, Event, MailId, SessionId, TaskId};
use server::OpenRefusal;
use uuid::Uuid;

use super::args::{ClaudeArgs, MAX_NAME_BYTES};
use super::frames::REPLAYED_MAIL;
use super::open_request::refusal;
use super::transcripts::EventPart;
use crate::session_uuid;

/// How many events are read from the log at a time.
const EVENTS_PER_PAGE: usize = 256;

/// The root's messages in a session's log.
#[derive(Debug, Default)]
struct RootMessages {
    root: Option<TaskId>,
    /// The events with messages of the root, in order.
    messages: Vec<RootMessage>,
    /// The event with which the root read each message.
    read: HashMap<MailId, u64>,
    /// The sessions that this one was forked from: messages keep their ids.
    originals: Vec<SessionId>,
}

#[derive(Debug, Clone, Copy)]
struct RootMessage {
    seq: u64,
    /// Whether the root reads mail with it.
    is_mail: bool,
}

/// The event after which the conversation of the session is cut; `None` if the client does not want that, or nothing
/// follows the message that it names.
pub(super) fn find_cut(args: &ClaudeArgs, home: &Home, session: SessionId) -> Result<Option<u64>, OpenRefusal> {
    let Some(at) = args.resume_at.as_deref() else {
        return match args.resume_drops_turn {
            Some(_) => Err(refusal("--resume-drops-turn needs --resume-session-at".into(), "")),
            None => Ok(None),
        };
    };
    let messages = RootMessages::read(home, session)?;
    let kept = messages.position(session, at).ok_or_else(|| {
        let at = protocol::clip_middle(at, MAX_NAME_BYTES);
        refusal(format!("--resume-session-at: the session has no message {at}"), "name a message of its main agent")
    })?;
    let dropped = messages.messages.get(kept + 1..).unwrap_or_default();
    if dropped.first().is_some_and(|next| !next.is_mail) {
        let hint = "name the last message of the turn";
        return Err(refusal("--resume-session-at: the message is inside of a turn".into(), hint));
    }
    if let Some(turn) = args.resume_drops_turn.as_deref() {
        expect_dropped_turn(messages.seq(session, turn), dropped)?;
    }
    Ok(dropped.first().map(|next| next.seq.saturating_sub(1)))
}

/// Fails unless everything that is dropped belongs to the turn of this prompt.
fn expect_dropped_turn(named: Option<u64>, dropped: &[RootMessage]) -> Result<(), OpenRefusal> {
    let rejected = |why: &str| {
        let hint = "resume without it, or at another message";
        Err(refusal(format!("Resume rejected by --resume-drops-turn: {why}"), hint))
    };
    match dropped.first() {
        Some(first) if named == Some(first.seq) => {}
        Some(_) | None => return rejected("that prompt does not follow the message of --resume-session-at"),
    }
    match dropped.iter().skip(1).any(|message| message.is_mail) {
        true => rejected("the session has received other messages since"),
        false => Ok(()),
    }
}

/// The last event before a message of the user, also if the conversation has it no more. `sent` is the message, if the
/// client that names it has sent it.
pub(super) fn find_user_message(
    home: &Home,
    session: SessionId,
    uuid: &str,
    sent: Option<MailId>,
) -> Result<Option<u64>, OpenRefusal> {
    let messages = RootMessages::read(home, session)?;
    let seq = match sent {
        Some(mail) => messages.read.get(&mail).copied(),
        None => messages.seq(session, uuid),
    };
    let is_mail = |seq: &u64| messages.read.values().any(|read| read == seq);
    Ok(seq.filter(is_mail).map(|seq| seq.saturating_sub(1)))
}

impl RootMessages {
    fn read(home: &Home, session: SessionId) -> Result<RootMessages, OpenRefusal> {
        let reader = SessionHandle::new(home, session);
        let (mut messages, mut seq) = (RootMessages::default(), 0);
        loop {
            let page = reader.events_after(seq, EVENTS_PER_PAGE);
            let page = page.map_err(|error| refusal(format!("cannot read the session: {error}"), ""))?;
            let Some(last) = page.last() else { return Ok(messages) };
            seq = last.seq;
            page.iter().for_each(|envelope| messages.apply_event(envelope));
        }
    }

    fn apply_event(&mut self, envelope: &Envelope) {
        let task = envelope.entry.task;
        if let Event::TaskCreated(spec) = &envelope.entry.event
            && spec.parent.is_none()
        {
            self.root.get_or_insert(task);
        }
        if let Event::SessionForked { from } = &envelope.entry.event {
            self.originals.push(*from);
        }
        if self.root != Some(task) {
            return;
        }
        match &envelope.entry.event {
            Event::MailDelivered { mail } => {
                self.read.extend(mail.iter().map(|mail| (*mail, envelope.seq)));
                self.messages.push(RootMessage { seq: envelope.seq, is_mail: true });
            }
            Event::TurnAnswered { .. } | Event::CallAnswered { .. } => {
                self.messages.push(RootMessage { seq: envelope.seq, is_mail: false });
            }
            Event::ConversationCut { after } => self.messages.retain(|message| message.seq <= *after),
            _other => {}
        }
    }

    /// The event of a message, by the id that clients know it by: that of an entry of the session file, or the one with
    /// which a message was replayed.
    fn seq(&self, session: SessionId, uuid: &str) -> Option<u64> {
        let uuid = Uuid::parse_str(uuid).ok()?;
        let sessions = [session].into_iter().chain(self.originals.iter().copied());
        let mut parts = sessions.filter_map(|session| EventPart::from_uuid(session_uuid(session), uuid));
        parts.find_map(|part| match part {
            EventPart { seq: mail, part: REPLAYED_MAIL } => self.read.get(&MailId(mail)).copied(),
            EventPart { seq, .. } => self.has_event(seq).then_some(seq),
        })
    }

    /// Whether the root got a message with this event, also if the conversation has it no more.
    fn has_event(&self, seq: u64) -> bool {
        self.messages.iter().any(|message| message.seq == seq) || self.read.values().any(|read| *read == seq)
    }

    /// The position of the message that clients know by this id.
    fn position(&self, session: SessionId, uuid: &str) -> Option<usize> {
        let seq = self.seq(session, uuid)?;
        self.messages.iter().position(|message| message.seq == seq)
    }
}
