//! Signals that a run handles.

use tokio::signal::unix::{SignalKind, signal};

use crate::error::CliError;

/// A request from a signal or from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunSignal {
    /// Stop the current work.
    Interrupt,
    /// End the run.
    End,
}

/// Listens for signals.
#[derive(Debug)]
pub(crate) struct SignalListener {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl SignalListener {
    pub(crate) fn listen() -> Result<SignalListener, CliError> {
        let listen =
            |kind| signal(kind).map_err(|error| CliError::failed(format!("cannot listen for signals: {error}")));
        Ok(SignalListener {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> RunSignal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => RunSignal::Interrupt,
            Some(()) = self.terminate.recv() => RunSignal::End,
            Some(()) = self.hang_up.recv() => RunSignal::End,
            else => std::future::pending().await,
        }
    }
}
