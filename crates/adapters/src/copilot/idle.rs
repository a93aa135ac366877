//! When a session is at rest, as its clients see it: everything in it is, and what comes next comes from outside.

use protocol::api::StatusView;
use protocol::{Envelope, Event, MailId, TaskOutcome};
use serde_json::Value;
use tokio::sync::watch;

/// How a session came to rest.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdleReport {
    /// The last of its own mail that was there before. What is unread then is not read until something else comes.
    pub(crate) mail: Option<MailId>,
    /// The event that told of it.
    pub(crate) event: Option<Value>,
    /// What its own agent said last.
    pub(crate) last_message: Option<Value>,
    /// Why it could not go on.
    pub(crate) error: Option<String>,
    pub(crate) aborted: bool,
}

/// What is known of the rest that a session comes to next.
#[derive(Debug)]
pub(crate) struct IdleTracker {
    is_busy: bool,
    next: IdleReport,
    last: watch::Sender<IdleReport>,
}

impl IdleTracker {
    pub(crate) fn new() -> (IdleTracker, watch::Receiver<IdleReport>) {
        let (last, rests) = watch::channel(IdleReport::default());
        (IdleTracker { is_busy: false, next: IdleReport::default(), last }, rests)
    }

    /// Reads an entry of the log, of the session's own agent or of another.
    pub(crate) fn observe_entry(&mut self, envelope: &Envelope, is_root: bool) {
        match &envelope.entry.event {
            Event::ActivationStarted { .. } if is_root => {
                self.is_busy = true;
                self.next = IdleReport { mail: self.next.mail, ..IdleReport::default() };
            }
            Event::MailAdmitted { mail, .. } if is_root => {
                self.is_busy = true;
                self.next.mail = self.next.mail.max(Some(*mail));
            }
            Event::ActivationStarted { .. } | Event::MailAdmitted { .. } => self.is_busy = true,
            Event::ActivationEnded { outcome: TaskOutcome::Cancelled { .. }, .. } if is_root => {
                self.next.aborted = true
            }
            Event::AdmissionClosed => self.next.aborted = true,
            _other => {}
        }
    }

    /// Hears what clients are told.
    pub(crate) fn observe_event(&mut self, event: &Value) {
        if event["type"] == "assistant.message" && event["agentId"].is_null() {
            self.next.last_message = Some(event.clone());
        }
        if event["type"] == "session.error" {
            self.next.error = event["data"]["message"].as_str().map(str::to_owned);
        }
    }

    /// Whether the session has come to rest, and if so whether that is because somebody wanted it.
    pub(crate) fn check_idle(&mut self, status: &StatusView) -> Option<bool> {
        if !status.quiet || status.continuation_due {
            self.is_busy = true;
            return None;
        }
        std::mem::take(&mut self.is_busy).then_some(self.next.aborted)
    }

    /// The session is at rest, and clients were told so.
    pub(crate) fn mark_announced(&mut self, event: Value) {
        self.next.event = Some(event);
        self.last.send_replace(self.next.clone());
    }

    /// The session cannot go on: whoever waits for it to rest need not wait any longer.
    pub(crate) fn mark_paused(&mut self, why: &str) {
        let (mail, error) = (Some(MailId(u64::MAX)), Some(why.to_owned()));
        self.last.send_replace(IdleReport { mail, error, ..self.next.clone() });
    }
}
