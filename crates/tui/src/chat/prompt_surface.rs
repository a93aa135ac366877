//! The part of a terminal that shows asks while a command runs.

use std::io::{IsTerminal, stderr, stdin, stdout};

use host::{RawTerminal, TerminalSize};

use super::key::TerminalInputMode;
use super::keyboard::Keyboard;
use super::panel::PanelLayout;
use super::screen::{PanelScreen, ScreenStream};
use super::text::StyledRow;
use crate::style::Style;
use crate::terminal_settings::TerminalSettings;

/// The output above the asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptSurface {
    /// Lines on stderr.
    Lines,
    /// A live view on stdout, whose owner also draws the ask.
    LiveView,
}

impl PromptSurface {
    /// Whether this surface and stdin are terminals.
    pub(super) fn is_attended(self, settings: TerminalSettings) -> bool {
        let is_terminal = match self {
            PromptSurface::Lines => stderr().is_terminal(),
            PromptSurface::LiveView => stdout().is_terminal() && !settings.is_dumb,
        };
        is_terminal && stdin().is_terminal()
    }
}

#[derive(Debug)]
pub(super) enum PromptState {
    /// No ask is open.
    Idle,
    /// An ask is shown.
    Open(Box<Keyboard>, PromptOutput),
    /// The user no longer answers here.
    Closed,
}

/// Where an ask is drawn.
#[derive(Debug)]
pub(super) enum PromptOutput {
    Lines(PanelScreen),
    /// In the live view; the terminal is in raw mode.
    LiveView(RawTerminal),
}

impl PromptState {
    /// Takes over the terminal; none if that fails or the process is in the background.
    pub(super) fn open(settings: TerminalSettings, surface: PromptSurface) -> Option<PromptState> {
        if !host::terminal::is_foreground() {
            return None;
        }
        let dumb = settings.is_dumb;
        let keyboard = Keyboard::listen(if dumb { TerminalInputMode::Lines } else { TerminalInputMode::Keys }).ok()?;
        let style = Style::of(&stderr(), settings);
        let output = match surface {
            PromptSurface::Lines => PromptOutput::Lines(PanelScreen::open(ScreenStream::Stderr, style, dumb).ok()?),
            PromptSurface::LiveView => PromptOutput::LiveView(RawTerminal::enter().ok()?),
        };
        Some(PromptState::Open(Box::new(keyboard), output))
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, PromptState::Open(..))
    }

    /// The screen, if asks are drawn here.
    pub(super) fn screen(&mut self) -> Option<&mut PanelScreen> {
        match self {
            PromptState::Open(_, PromptOutput::Lines(screen)) => Some(screen),
            PromptState::Open(_, PromptOutput::LiveView(_)) | PromptState::Idle | PromptState::Closed => None,
        }
    }

    /// Shows rows above the ask; returns them if the live view must draw them.
    pub(super) fn show(&mut self, rows: Vec<StyledRow>) -> Vec<StyledRow> {
        match self.screen() {
            Some(screen) => {
                screen.show(rows);
                Vec::new()
            }
            None => rows,
        }
    }

    /// Draws or erases the ask.
    pub(super) fn draw(&mut self, layout: Option<(PanelLayout, String)>) {
        let Some(screen) = self.screen() else { return };
        match layout {
            Some((layout, prompt)) => screen.draw(&layout, Some(&prompt)),
            None => screen.draw(&PanelLayout { rows: Vec::new(), cursor: (0, 0) }, None),
        }
    }

    /// Takes over the terminal again after the process was stopped.
    pub(super) fn retake_terminal(&mut self) {
        match self {
            PromptState::Open(_, PromptOutput::Lines(screen)) => screen.take_over(),
            PromptState::Open(_, PromptOutput::LiveView(terminal)) => {
                // The next key detects a terminal that is gone.
                let _gone = terminal.reenter();
            }
            PromptState::Idle | PromptState::Closed => {}
        }
    }

    /// Discards pending input.
    pub(super) fn discard_input(&mut self) {
        if let PromptState::Open(keyboard, _) = self {
            keyboard.discard_pending();
        }
    }

    pub(super) fn size(&self) -> TerminalSize {
        match self {
            PromptState::Open(_, PromptOutput::Lines(screen)) => screen.size(),
            PromptState::Open(_, PromptOutput::LiveView(_)) | PromptState::Idle | PromptState::Closed => {
                TerminalSize::read()
            }
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.size().columns.saturating_sub(1).max(10)
    }
}
