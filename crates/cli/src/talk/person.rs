//! The person at the terminal: keys in, rows out, and what the terminal tells the process.

use std::io;

use tokio::signal::unix::{Signal as Listener, SignalKind, signal};

use super::editor::Editor;
use super::history::History;
use super::key::{Key, Sender};
use super::keyboard::Keyboard;
use super::screen::{Screen, Stream};
use crate::failure::Failure;
use crate::run::{Signal, Signals};
use crate::setup::Setup;
use crate::style::Style;

/// SIGCONT, which has this number on every Linux but MIPS.
pub(super) const CONTINUED: i32 = 18;

/// A person at a terminal, for as long as the command lasts.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) screen: Screen,
    pub(super) editor: Editor,
    keyboard: Keyboard,
    signals: Signals,
    resized: Listener,
    continued: Listener,
}

/// What a person or the terminal did.
#[derive(Debug)]
pub(super) enum Deed {
    /// Pressed a key.
    Key(Key),
    /// Went away.
    Gone,
    /// Asked the process for something.
    Signal(Signal),
    /// Made the terminal larger or smaller.
    Resized,
    /// Let the process go on after it was stopped.
    Continued,
}

impl Person {
    pub(super) fn meet(setup: &Setup) -> Result<Person, Failure> {
        let dumb = setup.env.has_dumb_terminal();
        let listen =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")));
        let unusable = |error| Failure::failed(format!("cannot use the terminal: {error}"));
        let screen = Screen::open(Stream::Stdout, Style::of(&io::stdout(), &setup.env), dumb).map_err(unusable)?;
        Ok(Person {
            screen,
            editor: Editor::new(History::open(setup.home.root())),
            keyboard: Keyboard::listen(if dumb { Sender::Lines } else { Sender::Keys }).map_err(unusable)?,
            signals: Signals::listen()?,
            resized: listen(SignalKind::window_change())?,
            continued: listen(SignalKind::from_raw(CONTINUED))?,
        })
    }

    /// The next thing that the person does. Nothing is lost when the wait for it is given up.
    pub(super) async fn next(&mut self) -> Deed {
        tokio::select! {
            biased;
            signal = self.signals.next() => Deed::Signal(signal),
            Some(()) = self.resized.recv() => Deed::Resized,
            Some(()) = self.continued.recv() => Deed::Continued,
            key = self.keyboard.next() => key.map_or(Deed::Gone, Deed::Key),
        }
    }

    /// Whether more keys were pressed already.
    pub(super) fn has_typed(&self) -> bool {
        self.keyboard.has_keys()
    }
}
