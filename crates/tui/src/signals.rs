//! Signals that a run handles.

use tokio::signal::unix::{SignalKind, signal};

use crate::terminal_settings::TerminalError;

/// A request from a signal or from the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunSignal {
    /// Stop the current work.
    Interrupt,
    /// End the run.
    End,
}

/// Listens for signals.
#[derive(Debug)]
pub struct SignalListener {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl SignalListener {
    /// Listens from now on.
    pub fn listen() -> Result<SignalListener, TerminalError> {
        let listen = |kind| signal(kind).map_err(TerminalError::Signals);
        Ok(SignalListener {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal. Cancel-safe.
    pub async fn next(&mut self) -> RunSignal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => RunSignal::Interrupt,
            Some(()) = self.terminate.recv() => RunSignal::End,
            Some(()) = self.hang_up.recv() => RunSignal::End,
            else => std::future::pending().await,
        }
    }
}
