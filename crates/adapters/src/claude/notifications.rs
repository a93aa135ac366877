//! Follows the session's notifications, and sends frames to the client.

use protocol::api::StatusView;
use protocol::{CancelBy, Envelope, Event, MailId, Principal, SessionMode, TaskId, TaskOutcome, Turn};
use rpc::RpcNotification;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::conversation::{ClientConversation, ConversationEnd};
use super::frames::TurnResult;
use super::mode::ClaudePermissionMode;
use super::own_mail::ReadBy;
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
                let frames = self.frame_writer.text_frames(task, turn, &text);
                Ok(self.send_frames(frames).await?)
            }
            "status" => {
                let status: StatusView = read_params(notification.params)?;
                if let Some(why) = &status.paused {
                    return Err(ConversationEnd::Broken(format!("the session cannot continue: {why}")));
                }
                self.status = Some(status);
                Ok(self.send_state().await?)
            }
            method => {
                tracing::debug!(method, "ignoring a notification");
                Ok(())
            }
        }
    }

    async fn handle_event(&mut self, envelope: &Envelope) -> Result<(), ConversationEnd> {
        self.last_seq = envelope.seq;
        let task = envelope.entry.task;
        self.stats.record(envelope);
        if let Event::CallAnswered { call, answer, .. } = &envelope.entry.event {
            self.withdraw_ask(task, call);
            if let Some(denial) = self.frame_writer.denial(task, call, answer) {
                self.stats.record_denial(denial);
            }
        }
        if let Some(structured) = self.structured_output.as_mut().filter(|_| task == self.root) {
            structured.apply_event(&envelope.entry.event);
        }
        // The follower's frames are about tasks; the frame writer's are the messages of agents.
        let mut frames = self.follower.apply_event(envelope);
        frames.extend(self.follower.take_mirror_frames());
        frames.extend(self.frame_writer.event_frames(envelope));
        self.send_frames(frames).await?;
        match &envelope.entry.event {
            Event::TaskCreated(spec) => {
                self.task_kinds.insert(task, spec.kind);
            }
            Event::AskOpened(ask) => self.send_ask(task, ask.clone()).await?,
            Event::AskDecided { call, .. } => self.withdraw_ask(task, call),
            Event::ActivationStarted { .. } if task == self.root => self.handle_activation_start().await?,
            Event::ActivationStarted { .. } if self.task_kinds.get(&task).is_none_or(|kind| kind.is_agent()) => {
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
            // A fork first cancels the work that it has copied from its original. The end of that activation does not
            // end a turn of this client.
            Event::ActivationEnded { outcome: TaskOutcome::Cancelled { by: CancelBy::SessionEnd }, .. }
                if task == self.root && !self.has_read_prompt && !self.was_woken => {}
            Event::ActivationEnded { outcome, text, .. } if task == self.root => {
                let result = TurnResult::from_outcome(outcome, text, self.structured_output.is_some());
                match self.own_mail.take_unsettled() {
                    Some(read) => {
                        self.has_read_prompt = false;
                        self.unsettled_ends.push((result, read));
                    }
                    None => self.handle_activation_end(result).await?,
                }
            }
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                self.busy_agents.remove(&task);
            }
            Event::ModeChanged { mode, .. } => self.mode_changed(*mode).await?,
            _other => {}
        }
        Ok(())
    }

    /// Records that the root has read these messages, and whether they were from the user or from others.
    fn mark_read(&mut self, mails: &[MailId]) {
        for mail in mails {
            match self.unread_mail.remove(mail) {
                Some(Principal::User) => match self.own_mail.read(*mail) {
                    ReadBy::Client => self.has_read_prompt = true,
                    ReadBy::Others => {}
                },
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
            (SessionMode::Interactive | SessionMode::Autopilot, current) => current,
        };
        if mode == self.info.mode {
            return Ok(());
        }
        self.info.mode = mode;
        self.send_mode().await
    }
}

fn read_params<T: DeserializeOwned>(params: Value) -> Result<T, ConversationEnd> {
    serde_json::from_value(params)
        .map_err(|error| ConversationEnd::Broken(format!("cannot read a notification from the session: {error}")))
}
