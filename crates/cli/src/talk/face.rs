//! The part of a terminal that questions stand in while a command goes on.

use std::io::{IsTerminal, stderr, stdin, stdout};

use host::{RawTerminal, TerminalSize};

use super::key::Sender;
use super::keyboard::Keyboard;
use super::panel::Laid;
use super::screen::{Screen, Stream};
use super::text::Row;
use crate::setup::Setup;
use crate::style::Style;

/// What the questions stand below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Lines on stderr.
    Lines,
    /// A picture on stdout, which somebody else draws with what is asked.
    Picture,
}

impl Surface {
    /// Whether a person reads it and types on stdin.
    pub(super) fn is_attended(self, setup: &Setup) -> bool {
        let is_read = match self {
            Surface::Lines => stderr().is_terminal(),
            Surface::Picture => stdout().is_terminal() && !setup.env.has_dumb_terminal(),
        };
        is_read && stdin().is_terminal()
    }
}

#[derive(Debug)]
pub(super) enum State {
    /// Nothing is asked.
    Quiet,
    /// A question is shown.
    Open(Box<Keyboard>, Face),
    /// The person does not answer here any more.
    Closed,
}

/// Where a question is drawn.
#[derive(Debug)]
pub(super) enum Face {
    Lines(Screen),
    /// The picture's; the terminal gives single keys.
    Picture(RawTerminal),
}

impl State {
    /// Takes the terminal over; none if that cannot be. A process in the background leaves it alone.
    pub(super) fn open(setup: &Setup, surface: Surface) -> Option<State> {
        if !host::terminal::is_foreground() {
            return None;
        }
        let dumb = setup.env.has_dumb_terminal();
        let keyboard = Keyboard::listen(if dumb { Sender::Lines } else { Sender::Keys }).ok()?;
        let style = Style::of(&stderr(), &setup.env);
        let face = match surface {
            Surface::Lines => Face::Lines(Screen::open(Stream::Stderr, style, dumb).ok()?),
            Surface::Picture => Face::Picture(RawTerminal::ask().ok()?),
        };
        Some(State::Open(Box::new(keyboard), face))
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, State::Open(..))
    }

    /// The screen, where questions are drawn here.
    pub(super) fn screen(&mut self) -> Option<&mut Screen> {
        match self {
            State::Open(_, Face::Lines(screen)) => Some(screen),
            State::Open(_, Face::Picture(_)) | State::Quiet | State::Closed => None,
        }
    }

    /// Shows rows above the question; gives them back where somebody else draws.
    pub(super) fn show(&mut self, rows: Vec<Row>) -> Vec<Row> {
        match self.screen() {
            Some(screen) => {
                screen.show(rows);
                Vec::new()
            }
            None => rows,
        }
    }

    /// Draws the question, or takes it away.
    pub(super) fn draw(&mut self, laid: Option<(Laid, String)>) {
        let Some(screen) = self.screen() else { return };
        match laid {
            Some((laid, prompt)) => screen.draw(&laid, Some(&prompt)),
            None => screen.draw(&Laid { rows: Vec::new(), cursor: (0, 0) }, None),
        }
    }

    /// The terminal is ours again, after the process was stopped.
    pub(super) fn take_again(&mut self) {
        match self {
            State::Open(_, Face::Lines(screen)) => screen.take(),
            State::Open(_, Face::Picture(keys)) => {
                // A terminal that is gone is found out by the next key.
                let _gone = keys.ask_again();
            }
            State::Quiet | State::Closed => {}
        }
    }

    /// Forgets what was typed and not yet taken.
    pub(super) fn forget_typed(&mut self) {
        if let State::Open(keyboard, _) = self {
            keyboard.forget();
        }
    }

    pub(super) fn size(&self) -> TerminalSize {
        match self {
            State::Open(_, Face::Lines(screen)) => screen.size(),
            State::Open(_, Face::Picture(_)) | State::Quiet | State::Closed => TerminalSize::read(),
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.size().columns.saturating_sub(1).max(10)
    }
}
