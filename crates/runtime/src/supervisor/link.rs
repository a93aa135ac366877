//! What binds a run to its supervisor.

use std::sync::Arc;

use protocol::{CallId, CancelMode, Envelope, RunId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::Heartbeat;

use super::Supervisor;
use crate::watchdog::{LatestText, StreamedTokens, is_sign_of_life};

/// What a run is told.
#[derive(Debug)]
pub(crate) enum RunMessage {
    /// An event of its task is durable.
    Event(Arc<Envelope>),
    /// It has a slot again.
    Go,
    /// A call's wait is over, for tasks or for a person.
    WaitOver(CallId),
    /// Take one last turn.
    WrapUp,
}

/// The run's end of the binding.
#[derive(Debug)]
pub(crate) struct RunLink {
    pub(crate) run: RunId,
    pub(crate) supervisor: Supervisor,
    messages: mpsc::UnboundedReceiver<RunMessage>,
    /// Whether it was told that it has a slot again, since it last waited for one.
    has_slot: bool,
    /// Cancelled when the run must end at once.
    pub(crate) stop: CancellationToken,
    /// Its signs of life.
    pub(crate) pulse: Heartbeat,
    /// What it said last.
    pub(crate) latest_text: LatestText,
    /// How much of the answer under way has arrived.
    pub(crate) streamed: StreamedTokens,
}

impl RunLink {
    /// The next thing that it is told; nothing when there is nobody any more to tell it.
    pub(crate) async fn next_message(&mut self) -> Option<RunMessage> {
        let told = self.messages.recv().await?;
        Some(self.note(told))
    }

    /// What it was told and has not heard yet.
    pub(crate) fn try_next_message(&mut self) -> Option<RunMessage> {
        let told = self.messages.try_recv().ok()?;
        Some(self.note(told))
    }

    /// Whether it was told of a slot since the last question. The word may come before anybody waits for it, and is not
    /// said twice.
    pub(crate) fn take_slot(&mut self) -> bool {
        std::mem::take(&mut self.has_slot)
    }

    fn note(&mut self, told: RunMessage) -> RunMessage {
        self.has_slot |= matches!(told, RunMessage::Go);
        told
    }
}

/// The supervisor's end.
#[derive(Debug)]
pub(super) struct RunHandle {
    pub(super) run: RunId,
    messages: mpsc::UnboundedSender<RunMessage>,
    stop: CancellationToken,
    pulse: Heartbeat,
    latest_text: LatestText,
    streamed: StreamedTokens,
}

impl RunHandle {
    pub(super) fn new(run: RunId, supervisor: Supervisor) -> (RunHandle, RunLink) {
        let (tell, told) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let (pulse, words, streamed) = (Heartbeat::default(), LatestText::default(), StreamedTokens::default());
        let link = RunLink {
            run,
            supervisor,
            messages: told,
            has_slot: false,
            stop: stop.clone(),
            pulse: pulse.clone(),
            latest_text: words.clone(),
            streamed: streamed.clone(),
        };
        (RunHandle { run, messages: tell, stop, pulse, latest_text: words, streamed }, link)
    }

    /// Tells the run; one that has just ended needs no word.
    pub(super) fn send(&self, told: RunMessage) {
        let _ended = self.messages.send(told);
    }

    /// Tells the run of an event of its task.
    pub(super) fn send_event(&self, envelope: Arc<Envelope>) {
        if is_sign_of_life(&envelope.entry.event) {
            self.pulse.beat();
        }
        self.send(RunMessage::Event(envelope));
    }

    /// What the run said last.
    pub(super) fn latest_text(&self) -> String {
        self.latest_text.text()
    }

    /// How much of the answer under way has arrived.
    pub(super) fn streamed(&self) -> u32 {
        self.streamed.tokens()
    }

    pub(super) fn stop(&self, how: CancelMode) {
        match how {
            CancelMode::WrapUp => self.send(RunMessage::WrapUp),
            CancelMode::Abort => self.stop.cancel(),
        }
    }
}
