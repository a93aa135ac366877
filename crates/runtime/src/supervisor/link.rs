//! The channel between a run and its supervisor.

use std::sync::Arc;

use protocol::{CallId, CancelMode, Envelope, RunId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::Heartbeat;

use super::Supervisor;
use crate::call_waits::CallWaits;
use crate::watchdog::{LatestText, StreamedTokens, is_sign_of_life};

/// A message to a run.
#[derive(Debug)]
pub(crate) enum RunMessage {
    /// An event of the run's task was committed.
    Event(Arc<Envelope>),
    /// The run has a slot again.
    SlotRegained,
    /// Take one last turn.
    WrapUp,
}

/// The messages to a run.
#[derive(Debug)]
pub(crate) struct RunMessages {
    messages: mpsc::UnboundedReceiver<RunMessage>,
    /// Whether the run was given a slot since the last [`RunMessages::take_slot`].
    has_slot: bool,
}

impl RunMessages {
    /// The messages that are put into the returned sender.
    pub(crate) fn channel() -> (mpsc::UnboundedSender<RunMessage>, RunMessages) {
        let (sender, messages) = mpsc::unbounded_channel();
        (sender, RunMessages { messages, has_slot: false })
    }

    /// Waits for the next message; returns nothing when the supervisor is gone.
    pub(crate) async fn next(&mut self) -> Option<RunMessage> {
        let message = self.messages.recv().await?;
        Some(self.record_slot(message))
    }

    /// Returns the next message that has arrived.
    pub(crate) fn try_next(&mut self) -> Option<RunMessage> {
        let message = self.messages.try_recv().ok()?;
        Some(self.record_slot(message))
    }

    /// Whether the run was given a slot since the last call. [`RunMessage::SlotRegained`] may arrive before the run
    /// waits for it, and is not repeated.
    pub(crate) fn take_slot(&mut self) -> bool {
        std::mem::take(&mut self.has_slot)
    }

    fn record_slot(&mut self, message: RunMessage) -> RunMessage {
        self.has_slot |= matches!(message, RunMessage::SlotRegained);
        message
    }
}

/// The run's end of the channel.
#[derive(Debug)]
pub(crate) struct RunLink {
    pub(crate) run: RunId,
    pub(crate) supervisor: Supervisor,
    pub(crate) messages: RunMessages,
    /// The calls that wait for other tasks or for a decision.
    pub(crate) call_waits: CallWaits,
    /// Cancelled when the run must end at once.
    pub(crate) stop: CancellationToken,
    /// Shows the watchdog that the run is alive.
    pub(crate) heartbeat: Heartbeat,
    /// The latest text of the run.
    pub(crate) latest_text: LatestText,
    /// The tokens of the current answer that have arrived.
    pub(crate) streamed: StreamedTokens,
}

/// The supervisor's end of the channel.
#[derive(Debug)]
pub(super) struct RunHandle {
    pub(super) run: RunId,
    messages: mpsc::UnboundedSender<RunMessage>,
    call_waits: CallWaits,
    stop: CancellationToken,
    heartbeat: Heartbeat,
    latest_text: LatestText,
    streamed: StreamedTokens,
}

impl RunHandle {
    pub(super) fn new(run: RunId, supervisor: Supervisor) -> (RunHandle, RunLink) {
        let (sender, messages) = RunMessages::channel();
        let (stop, call_waits) = (CancellationToken::new(), CallWaits::default());
        let (heartbeat, latest_text, streamed) =
            (Heartbeat::default(), LatestText::default(), StreamedTokens::default());
        let link = RunLink {
            run,
            supervisor,
            messages,
            call_waits: call_waits.clone(),
            stop: stop.clone(),
            heartbeat: heartbeat.clone(),
            latest_text: latest_text.clone(),
            streamed: streamed.clone(),
        };
        (RunHandle { run, messages: sender, call_waits, stop, heartbeat, latest_text, streamed }, link)
    }

    /// Sends a message to the run, which may have just ended.
    pub(super) fn send(&self, message: RunMessage) {
        let _ended = self.messages.send(message);
    }

    /// Sends the run an event of its task.
    pub(super) fn send_event(&self, envelope: Arc<Envelope>) {
        if is_sign_of_life(&envelope.entry.event) {
            self.heartbeat.beat();
        }
        self.send(RunMessage::Event(envelope));
    }

    /// Ends a call's wait for tasks or for the user.
    pub(super) fn finish_wait(&self, call: &CallId) {
        self.call_waits.finish(call);
    }

    /// The latest text of the run.
    pub(super) fn latest_text(&self) -> String {
        self.latest_text.text()
    }

    /// The tokens of the current answer that have arrived.
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
