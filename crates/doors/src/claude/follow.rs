//! Follows what happens in the session, and shows it to the client.

use protocol::api::StatusView;
use protocol::{CancelBy, Envelope, Event, Kind, MailId, Origin, Outcome, SessionMode, TaskId, Turn};
use rpc::Notification;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::frames::Ending;
use super::mode::Mode;
use super::talk::{Over, Talk};
use super::wire::Gone;

/// Streamed words.
#[derive(Deserialize)]
struct Words {
    task: TaskId,
    turn: Turn,
    text: String,
}

impl Talk {
    /// Takes what the session tells.
    pub(super) async fn told(&mut self, notice: Notification) -> Result<(), Over> {
        match notice.method.as_str() {
            "event" => self.happened(&read(notice.params)?).await,
            "text" => {
                let Words { task, turn, text } = read(notice.params)?;
                let shown = self.scribe.text(task, turn, &text);
                Ok(self.show_all(shown).await?)
            }
            "status" => {
                let status: StatusView = read(notice.params)?;
                if let Some(why) = &status.paused {
                    return Err(Over::Broken(format!("the session cannot go on: {why}")));
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

    async fn happened(&mut self, envelope: &Envelope) -> Result<(), Over> {
        self.seq = envelope.seq;
        let task = envelope.entry.task;
        self.ledger.event(envelope);
        if let Event::CallAnswered { call, answer, .. } = &envelope.entry.event {
            self.withdraw(task, call);
            if let Some(denial) = self.scribe.denial(task, call, answer) {
                self.ledger.deny(denial);
            }
        }
        if let Some(structured) = self.structured.as_mut().filter(|_| task == self.root) {
            structured.follow(&envelope.entry.event);
        }
        let mut shown = self.watch.event(envelope);
        shown.extend(self.scribe.event(envelope));
        self.show_all(shown).await?;
        match &envelope.entry.event {
            Event::TaskCreated(spec) => {
                self.crew.insert(task, spec.kind);
            }
            Event::Asked(ask) => self.ask(task, ask.clone()).await?,
            Event::AskDecided { call, .. } => self.withdraw(task, call),
            Event::ActivationStarted { .. } if task == self.root => self.began().await?,
            Event::ActivationStarted { .. } if self.crew.get(&task) != Some(&Kind::Shell) => {
                self.busy.insert(task);
            }
            Event::MailAdmitted { mail, from, .. } if task == self.root => {
                self.mails.insert(*mail, *from);
            }
            Event::MailDelivered { mail } if task == self.root => {
                self.read(mail);
                if self.heard && std::mem::take(&mut self.breaks) {
                    self.interrupt().await;
                }
            }
            // A copy does not go on with what its original was at: that is no turn of this client's.
            Event::ActivationEnded { outcome: Outcome::Cancelled { by: CancelBy::SessionEnd }, .. }
                if task == self.root && !self.heard && !self.woken => {}
            Event::ActivationEnded { outcome, text, .. } if task == self.root => {
                let ending = Ending::of(outcome, text, self.structured.is_some());
                self.ended(ending).await?;
            }
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                self.busy.remove(&task);
            }
            Event::ModeChanged { mode, .. } => self.mode_changed(*mode).await?,
            _other => {}
        }
        Ok(())
    }

    /// The root has read messages.
    fn read(&mut self, mails: &[MailId]) {
        for mail in mails {
            match self.mails.remove(mail) {
                Some(Origin::User) => self.heard = true,
                Some(Origin::Task { .. } | Origin::Runtime) => self.woken = true,
                None => {}
            }
        }
    }

    async fn mode_changed(&mut self, mode: SessionMode) -> Result<(), Gone> {
        let mode = match (mode, self.intro.mode) {
            (SessionMode::Plan, _) => Mode::Plan,
            (SessionMode::Interactive | SessionMode::Autopilot, Mode::Plan) => Mode::Default,
            (SessionMode::Interactive | SessionMode::Autopilot, same) => same,
        };
        if mode == self.intro.mode {
            return Ok(());
        }
        self.intro.mode = mode;
        self.show_mode().await
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Over> {
    serde_json::from_value(params).map_err(|error| Over::Broken(format!("the session was not understood: {error}")))
}
