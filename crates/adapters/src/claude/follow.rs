//! Follows what happens in the session, and shows it to the client.

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

/// Streamed words.
#[derive(Deserialize)]
struct StreamedText {
    task: TaskId,
    turn: Turn,
    text: String,
}

impl ClientConversation {
    /// Takes what the session tells.
    pub(super) async fn told(&mut self, notice: RpcNotification) -> Result<(), ConversationEnd> {
        match notice.method.as_str() {
            "event" => self.happened(&read(notice.params)?).await,
            "text" => {
                let StreamedText { task, turn, text } = read(notice.params)?;
                let shown = self.frame_writer.text(task, turn, &text);
                Ok(self.show_all(shown).await?)
            }
            "status" => {
                let status: StatusView = read(notice.params)?;
                if let Some(why) = &status.paused {
                    return Err(ConversationEnd::Broken(format!("the session cannot go on: {why}")));
                }
                self.status = Some(status);
                Ok(self.show_state().await?)
            }
            other => {
                tracing::debug!(other, "a notification is passed over");
                Ok(())
            }
        }
    }

    async fn happened(&mut self, envelope: &Envelope) -> Result<(), ConversationEnd> {
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
        let mut shown = self.follower.event(envelope);
        shown.extend(self.frame_writer.event(envelope));
        self.show_all(shown).await?;
        match &envelope.entry.event {
            Event::TaskCreated(spec) => {
                self.task_kinds.insert(task, spec.kind);
            }
            Event::AskOpened(ask) => self.ask(task, ask.clone()).await?,
            Event::AskDecided { call, .. } => self.withdraw(task, call),
            Event::ActivationStarted { .. } if task == self.root => self.began().await?,
            Event::ActivationStarted { .. } if self.task_kinds.get(&task) != Some(&TaskType::Shell) => {
                self.busy_agents.insert(task);
            }
            Event::MailAdmitted { mail, from, .. } if task == self.root => {
                self.unread_mail.insert(*mail, *from);
            }
            Event::MailDelivered { mail } if task == self.root => {
                self.parse_params(mail);
                if self.has_read_prompt && std::mem::take(&mut self.interrupt_when_read) {
                    self.interrupt().await;
                }
            }
            // A copy does not go on with what its original was at: that is not a turn of this client's.
            Event::ActivationEnded { outcome: TaskOutcome::Cancelled { by: CancelBy::SessionEnd }, .. }
                if task == self.root && !self.has_read_prompt && !self.was_woken => {}
            Event::ActivationEnded { outcome, text, .. } if task == self.root => {
                let ending = TurnResult::from_outcome(outcome, text, self.structured.is_some());
                self.ended(ending).await?;
            }
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                self.busy_agents.remove(&task);
            }
            Event::ModeChanged { mode, .. } => self.mode_changed(*mode).await?,
            _other => {}
        }
        Ok(())
    }

    /// The root has read messages.
    fn parse_params(&mut self, mails: &[MailId]) {
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

fn read<T: DeserializeOwned>(params: Value) -> Result<T, ConversationEnd> {
    serde_json::from_value(params)
        .map_err(|error| ConversationEnd::Broken(format!("the session was not understood: {error}")))
}
