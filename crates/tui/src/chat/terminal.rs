//! The terminal of a conversation: keys, screen, and signals.

use std::io;

use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::editor::LineEditor;
use super::history::InputHistory;
use super::key::{KeyPress, TerminalInputMode};
use super::keyboard::Keyboard;
use super::screen::{PanelScreen, ScreenStream};
use crate::signals::{RunSignal, SignalListener};
use crate::style::Style;
use crate::terminal_settings::{TerminalError, TerminalSettings};

/// SIGCONT, which has this number on every Linux but MIPS.
pub(super) const SIGCONT: i32 = 18;

/// The terminal, for as long as the command runs.
#[derive(Debug)]
pub(super) struct ChatTerminal {
    pub(super) screen: PanelScreen,
    pub(super) editor: LineEditor,
    keyboard: Keyboard,
    signals: SignalListener,
    resized: Listener,
    continued: Listener,
}

/// An event of the terminal.
#[derive(Debug)]
pub(super) enum TerminalEvent {
    /// A key press.
    Key(KeyPress),
    /// The terminal is gone.
    Closed,
    /// A signal to the process.
    Signal(RunSignal),
    /// The terminal has a new size.
    Resized,
    /// The process continues after it was stopped.
    Continued,
}

impl ChatTerminal {
    /// Takes over the terminal.
    pub(super) fn open(settings: TerminalSettings, history: InputHistory) -> Result<ChatTerminal, TerminalError> {
        let TerminalSettings { is_dumb: dumb, .. } = settings;
        let listen = |kind| signal(kind).map_err(TerminalError::Signals);
        let unusable = TerminalError::Unusable;
        let screen =
            PanelScreen::open(ScreenStream::Stdout, Style::of(&io::stdout(), settings), dumb).map_err(unusable)?;
        Ok(ChatTerminal {
            screen,
            editor: LineEditor::new(history),
            keyboard: Keyboard::listen(if dumb { TerminalInputMode::Lines } else { TerminalInputMode::Keys })
                .map_err(unusable)?,
            signals: SignalListener::listen()?,
            resized: listen(SignalKind::window_change())?,
            continued: listen(SignalKind::from_raw(SIGCONT))?,
        })
    }

    /// Waits for the next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> TerminalEvent {
        tokio::select! {
            biased;
            signal = self.signals.next() => TerminalEvent::Signal(signal),
            Some(()) = self.resized.recv() => TerminalEvent::Resized,
            Some(()) = self.continued.recv() => TerminalEvent::Continued,
            key = self.keyboard.next() => key.map_or(TerminalEvent::Closed, TerminalEvent::Key),
        }
    }

    /// Whether more keys are pending.
    pub(super) fn has_pending_keys(&self) -> bool {
        self.keyboard.has_keys()
    }
}
