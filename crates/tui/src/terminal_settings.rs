//! What the user's environment says about the terminal.

use std::io;

/// What the user's environment says about the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSettings {
    /// Whether the user has not disabled colours.
    pub allows_colour: bool,
    /// Whether the terminal only supports whole lines.
    pub is_dumb: bool,
}

/// Why the terminal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// The process cannot listen for signals.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
    /// The terminal does not accept its mode, or cannot be read.
    #[error("cannot use the terminal: {0}")]
    Unusable(io::Error),
}
