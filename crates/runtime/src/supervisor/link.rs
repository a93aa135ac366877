//! What binds a run to its supervisor.

use std::sync::Arc;

use protocol::{CallId, Cancel, Envelope, Run};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::Pulse;

use super::Supervisor;
use crate::watch::{Streamed, Words, is_sign_of_life};

/// What a run is told.
#[derive(Debug)]
pub(crate) enum Told {
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
pub(crate) struct Link {
    pub(crate) run: Run,
    pub(crate) supervisor: Supervisor,
    told: mpsc::UnboundedReceiver<Told>,
    /// Whether it was told that it has a slot again, since it last waited for one.
    has_slot: bool,
    /// Cancelled when the run must end at once.
    pub(crate) stop: CancellationToken,
    /// Its signs of life.
    pub(crate) pulse: Pulse,
    /// What it said last.
    pub(crate) words: Words,
    /// How much of the answer under way has arrived.
    pub(crate) streamed: Streamed,
}

impl Link {
    /// The next thing that it is told; nothing when there is nobody any more to tell it.
    pub(crate) async fn told(&mut self) -> Option<Told> {
        let told = self.told.recv().await?;
        Some(self.note(told))
    }

    /// What it was told and has not heard yet.
    pub(crate) fn told_already(&mut self) -> Option<Told> {
        let told = self.told.try_recv().ok()?;
        Some(self.note(told))
    }

    /// Whether it was told of a slot since the last question. The word may come before anybody waits for it, and is not
    /// said twice.
    pub(crate) fn take_slot(&mut self) -> bool {
        std::mem::take(&mut self.has_slot)
    }

    fn note(&mut self, told: Told) -> Told {
        self.has_slot |= matches!(told, Told::Go);
        told
    }
}

/// The supervisor's end.
#[derive(Debug)]
pub(super) struct Leash {
    pub(super) run: Run,
    tell: mpsc::UnboundedSender<Told>,
    stop: CancellationToken,
    pulse: Pulse,
    words: Words,
    streamed: Streamed,
}

impl Leash {
    pub(super) fn new(run: Run, supervisor: Supervisor) -> (Leash, Link) {
        let (tell, told) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let (pulse, words, streamed) = (Pulse::default(), Words::default(), Streamed::default());
        let link = Link {
            run,
            supervisor,
            told,
            has_slot: false,
            stop: stop.clone(),
            pulse: pulse.clone(),
            words: words.clone(),
            streamed: streamed.clone(),
        };
        (Leash { run, tell, stop, pulse, words, streamed }, link)
    }

    /// Tells the run; one that has just ended needs no word.
    pub(super) fn tell(&self, told: Told) {
        let _ended = self.tell.send(told);
    }

    /// Tells the run of an event of its task.
    pub(super) fn tell_event(&self, envelope: Arc<Envelope>) {
        if is_sign_of_life(&envelope.entry.event) {
            self.pulse.beat();
        }
        self.tell(Told::Event(envelope));
    }

    /// What the run said last.
    pub(super) fn words(&self) -> String {
        self.words.text()
    }

    /// How much of the answer under way has arrived.
    pub(super) fn streamed(&self) -> u32 {
        self.streamed.tokens()
    }

    pub(super) fn stop(&self, how: Cancel) {
        match how {
            Cancel::WrapUp => self.tell(Told::WrapUp),
            Cancel::Abort => self.stop.cancel(),
        }
    }
}
