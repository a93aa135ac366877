//! Detects when a session is idle for its clients: all its work is done, and only new input can continue it.

use protocol::api::{RunPhase, StatusView};
use protocol::{Envelope, Event, MailId, TaskOutcome};
use serde_json::Value;
use tokio::sync::watch;

/// How a session became idle.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdleReport {
    /// The last mail to the root before the session became idle. Mail up to this one that is still unread stays unread
    /// until new mail arrives.
    pub(crate) last_mail: Option<MailId>,
    /// The event that reported it to clients.
    pub(crate) event: Option<Value>,
    /// The root's last message.
    pub(crate) last_message: Option<Value>,
    /// Why the session could not continue.
    pub(crate) error: Option<String>,
    pub(crate) aborted: bool,
}

/// Collects the next idle report.
#[derive(Debug)]
pub(crate) struct IdleTracker {
    is_busy: bool,
    next_report: IdleReport,
    report_sender: watch::Sender<IdleReport>,
}

impl IdleTracker {
    pub(crate) fn new() -> (IdleTracker, watch::Receiver<IdleReport>) {
        let (report_sender, reports) = watch::channel(IdleReport::default());
        (IdleTracker { is_busy: false, next_report: IdleReport::default(), report_sender }, reports)
    }

    /// Observes a log entry, of the root or of another task.
    pub(crate) fn observe_entry(&mut self, envelope: &Envelope, is_root: bool) {
        match &envelope.entry.event {
            Event::ActivationStarted { .. } if is_root => {
                self.is_busy = true;
                self.next_report = IdleReport { last_mail: self.next_report.last_mail, ..IdleReport::default() };
            }
            Event::MailAdmitted { mail, .. } if is_root => {
                self.is_busy = true;
                self.next_report.last_mail = self.next_report.last_mail.max(Some(*mail));
            }
            Event::ActivationStarted { .. } | Event::MailAdmitted { .. } => self.is_busy = true,
            Event::ActivationEnded { outcome: TaskOutcome::Cancelled { .. }, .. } if is_root => {
                self.next_report.aborted = true
            }
            Event::AdmissionClosed => self.next_report.aborted = true,
            _other => {}
        }
    }

    /// Observes an event that is sent to clients.
    pub(crate) fn observe_event(&mut self, event: &Value) {
        if event["type"] == "assistant.message" && event["agentId"].is_null() {
            self.next_report.last_message = Some(event.clone());
        }
        if event["type"] == "session.error" {
            self.next_report.error = event["data"]["message"].as_str().map(str::to_owned);
        }
    }

    /// Whether the session has become idle, and if so whether it was aborted.
    pub(crate) fn check_idle(&mut self, status: &StatusView) -> Option<bool> {
        if status.phase() != RunPhase::Quiet {
            self.is_busy = true;
            return None;
        }
        std::mem::take(&mut self.is_busy).then_some(self.next_report.aborted)
    }

    /// Records that the session is idle and clients were informed.
    pub(crate) fn mark_announced(&mut self, event: Value) {
        self.next_report.event = Some(event);
        self.report_sender.send_replace(self.next_report.clone());
    }

    /// Records that the session cannot continue, and releases all callers that wait for it to become idle, whichever
    /// mail they wait for.
    pub(crate) fn mark_paused(&mut self, why: &str) {
        let (mail, error) = (Some(MailId(u64::MAX)), Some(why.to_owned()));
        self.report_sender.send_replace(IdleReport { last_mail: mail, error, ..self.next_report.clone() });
    }
}
