//! The part of a terminal that questions stand in while a command goes on.

use std::io::{IsTerminal, stderr, stdin, stdout};

use host::{RawTerminal, TerminalSize};

use super::key::TerminalInputMode;
use super::keyboard::Keyboard;
use super::panel::PanelLayout;
use super::screen::{PanelScreen, ScreenStream};
use super::text::StyledRow;
use crate::setup::Setup;
use crate::style::Style;

/// What the questions stand below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptSurface {
    /// Lines on stderr.
    Lines,
    /// A picture on stdout, which somebody else draws with what is asked.
    Picture,
}

impl PromptSurface {
    /// Whether a person reads it and types on stdin.
    pub(super) fn is_attended(self, setup: &Setup) -> bool {
        let is_read = match self {
            PromptSurface::Lines => stderr().is_terminal(),
            PromptSurface::Picture => stdout().is_terminal() && !setup.env.has_dumb_terminal(),
        };
        is_read && stdin().is_terminal()
    }
}

#[derive(Debug)]
pub(super) enum PromptState {
    /// Nothing is asked.
    Quiet,
    /// A question is shown.
    Open(Box<Keyboard>, PromptOutput),
    /// The person does not answer here any more.
    Closed,
}

/// Where a question is drawn.
#[derive(Debug)]
pub(super) enum PromptOutput {
    Lines(PanelScreen),
    /// The picture's; the terminal gives single keys.
    Picture(RawTerminal),
}

impl PromptState {
    /// Takes the terminal over; none if that cannot be. A process in the background leaves it alone.
    pub(super) fn open(setup: &Setup, surface: PromptSurface) -> Option<PromptState> {
        if !host::terminal::is_foreground() {
            return None;
        }
        let dumb = setup.env.has_dumb_terminal();
        let keyboard = Keyboard::listen(if dumb { TerminalInputMode::Lines } else { TerminalInputMode::Keys }).ok()?;
        let style = Style::of(&stderr(), &setup.env);
        let face = match surface {
            PromptSurface::Lines => PromptOutput::Lines(PanelScreen::open(ScreenStream::Stderr, style, dumb).ok()?),
            PromptSurface::Picture => PromptOutput::Picture(RawTerminal::ask().ok()?),
        };
        Some(PromptState::Open(Box::new(keyboard), face))
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, PromptState::Open(..))
    }

    /// The screen, where questions are drawn here.
    pub(super) fn screen(&mut self) -> Option<&mut PanelScreen> {
        match self {
            PromptState::Open(_, PromptOutput::Lines(screen)) => Some(screen),
            PromptState::Open(_, PromptOutput::Picture(_)) | PromptState::Quiet | PromptState::Closed => None,
        }
    }

    /// Shows rows above the question; gives them back where somebody else draws.
    pub(super) fn show(&mut self, rows: Vec<StyledRow>) -> Vec<StyledRow> {
        match self.screen() {
            Some(screen) => {
                screen.show(rows);
                Vec::new()
            }
            None => rows,
        }
    }

    /// Draws the question, or takes it away.
    pub(super) fn draw(&mut self, laid: Option<(PanelLayout, String)>) {
        let Some(screen) = self.screen() else { return };
        match laid {
            Some((laid, prompt)) => screen.draw(&laid, Some(&prompt)),
            None => screen.draw(&PanelLayout { rows: Vec::new(), cursor: (0, 0) }, None),
        }
    }

    /// The terminal is ours again, after the process was stopped.
    pub(super) fn retake_terminal(&mut self) {
        match self {
            PromptState::Open(_, PromptOutput::Lines(screen)) => screen.take_over(),
            PromptState::Open(_, PromptOutput::Picture(keys)) => {
                // A terminal that is gone is found out by the next key.
                let _gone = keys.ask_again();
            }
            PromptState::Quiet | PromptState::Closed => {}
        }
    }

    /// Forgets what was typed and not yet taken.
    pub(super) fn discard_typed(&mut self) {
        if let PromptState::Open(keyboard, _) = self {
            keyboard.discard_pending();
        }
    }

    pub(super) fn size(&self) -> TerminalSize {
        match self {
            PromptState::Open(_, PromptOutput::Lines(screen)) => screen.size(),
            PromptState::Open(_, PromptOutput::Picture(_)) | PromptState::Quiet | PromptState::Closed => {
                TerminalSize::read()
            }
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.size().columns.saturating_sub(1).max(10)
    }
}
