//! Follows the session's notifications, and sends frames to the client.

use protocol::api::StatusView;
use protocol::{CancelBy, Envelope, Event, MailId, Principal, SessionMode, TaskId, TaskOutcome, TaskType, Turn};
use rpc::RpcNotification;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::conversation::{ClientConversation, ConversationEnd};
use super::frames::TurnResult;
use super::mode::ClaudePermissionMode;
use super::wire::ClientGone;

/// Streamed text.
#[derive(Deserialize)]
struct StreamedText {
    task: TaskId,
    turn: Turn,
    text: String,
}

impl ClientConversation {
    /// Handles a notification of the session.
    pub(super) async fn handle_notification(&mut self, notification: RpcNotification) -> Result<(), ConversationEnd> {
        match notification.method.as_str() {
            "event" => self.handle_event(&read_params(notification.params)?).await,
            "text" => {
                let StreamedText { task, turn, text } = read_params(notification.params)?;
                let frames = self.frame_writer.text(task, turn, &text);
                Ok(self.show_all(frames).await?)
            }
            "status" => {
                let status: StatusView = read_params(notification.params)?;
                if let Some(why) = &status.paused {
                    return Err(ConversationEnd::Broken(format!("the session cannot continue: {why}")));
                }
                self.status = Some(status);
                Ok(self.show_state().await?)
            }
            other => {
                tracing::debug!(other, "ignoring a notification");
                Ok(())
            }
        }
    }

    async fn handle_event(&mut self, envelope: &Envelope) -> Result<(), ConversationEnd> {
        self.seq = envelope.seq;
        let task = envelope.entry.task;
        self.stats.record(envelope);
        if let Event::CallAnswered { call, answer, .. } = &envelope.entry.event {
            self.withdraw(task, call);
            if let Some(denial) = self.frame_writer.denial(task, call, answer) {
                self.stats.record_denial(denial);
            }
        }
        if let Some(structured) = self.structured.as_mut().filter(|_| task == self.root) {
            structured.follow(&envelope.entry.event);
        }
        let mut frames = self.follower.event(envelope);
        frames.extend(self.frame_writer.event(envelope));
        self.show_all(frames).await?;
        match &envelope.entry.event {
            Event::TaskCreated(spec) => {
                self.task_kinds.insert(task, spec.kind);
            }
            Event::AskOpened(ask) => self.send_ask(task, ask.clone()).await?,
            Event::AskDecided { call, .. } => self.withdraw(task, call),
            Event::ActivationStarted { .. } if task == self.root => self.turn_began().await?,
            Event::ActivationStarted { .. } if self.task_kinds.get(&task) != Some(&TaskType::Shell) => {
                self.busy_agents.insert(task);
            }
            Event::MailAdmitted { mail, from, .. } if task == self.root => {
                self.unread_mail.insert(*mail, *from);
            }
            Event::MailDelivered { mail } if task == self.root => {
                self.mark_read(mail);
                if self.has_read_prompt && std::mem::take(&mut self.interrupt_when_read) {
                    self.interrupt().await;
                }
            }
            // A fork does not continue the work of its original: its end is not a turn of this client.
            Event::ActivationEnded { outcome: TaskOutcome::Cancelled { by: CancelBy::SessionEnd }, .. }
                if task == self.root && !self.has_read_prompt && !self.was_woken => {}
            Event::ActivationEnded { outcome, text, .. } if task == self.root => {
                let result = TurnResult::from_outcome(outcome, text, self.structured.is_some());
                self.turn_ended(result).await?;
            }
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                self.busy_agents.remove(&task);
            }
            Event::ModeChanged { mode, .. } => self.mode_changed(*mode).await?,
            _other => {}
        }
        Ok(())
    }

    /// Records which messages the root has read.
    fn mark_read(&mut self, mails: &[MailId]) {
        for mail in mails {
            match self.unread_mail.remove(mail) {
                Some(Principal::User) => self.has_read_prompt = true,
                Some(Principal::Task { .. } | Principal::Runtime) => self.was_woken = true,
                None => {}
            }
        }
    }

    async fn mode_changed(&mut self, mode: SessionMode) -> Result<(), ClientGone> {
        let mode = match (mode, self.info.mode) {
            (SessionMode::Plan, _) => ClaudePermissionMode::Plan,
            (SessionMode::Interactive | SessionMode::Autopilot, ClaudePermissionMode::Plan) => {
                ClaudePermissionMode::Default
            }
            (SessionMode::Interactive | SessionMode::Autopilot, same) => same,
        };
        if mode == self.info.mode {
            return Ok(());
        }
        self.info.mode = mode;
        self.show_mode().await
    }
}

fn read_params<T: DeserializeOwned>(params: Value) -> Result<T, ConversationEnd> {
    serde_json::from_value(params)
        .map_err(|error| ConversationEnd::Broken(format!("cannot read a message of the session: {error}")))
}
