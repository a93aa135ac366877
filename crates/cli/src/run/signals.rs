//! What the terminal and the machine ask of a run.

use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Stop what you are doing.
    Interrupt,
    /// Come to an end.
    End,
}

/// Listens for signals.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl Signals {
    pub(crate) fn listen() -> Result<Signals, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")));
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.terminate.recv() => Signal::End,
            Some(()) = self.hang_up.recv() => Signal::End,
            else => std::future::pending().await,
        }
    }
}
