//! The person at the terminal: keys in, rows out, and what the terminal tells the process.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::thread::JoinHandle;

use tokio::signal::unix::{Signal as Listener, SignalKind, signal};
use tokio::sync::mpsc;

use super::editor::Editor;
use super::history::History;
use super::key::{Decoder, Key, Sender};
use super::screen::Screen;
use crate::failure::Failure;
use crate::run::{Signal, Signals};
use crate::setup::Setup;
use crate::style::Style;

/// SIGCONT, which has this number on every Linux but MIPS.
const CONTINUED: i32 = 18;

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
        let screen = Screen::open(Style::of(&io::stdout(), &setup.env), dumb)
            .map_err(|error| Failure::failed(format!("cannot use the terminal: {error}")))?;
        Ok(Person {
            screen,
            editor: Editor::new(History::open(setup.home.root())),
            keyboard: Keyboard::listen(if dumb { Sender::Lines } else { Sender::Keys }),
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
        !self.keyboard.keys.is_empty()
    }
}

/// Keys, read by a thread of their own since reading them blocks.
#[derive(Debug)]
struct Keyboard {
    bytes: mpsc::Receiver<Vec<u8>>,
    decoder: Decoder,
    keys: VecDeque<Key>,
    /// It ends with the process: nothing can wake it from its read.
    _reader: JoinHandle<()>,
}

impl Keyboard {
    fn listen(sender: Sender) -> Keyboard {
        let (read, bytes) = mpsc::channel(16);
        let reader = std::thread::spawn(move || read_all(&read));
        Keyboard { bytes, decoder: Decoder::new(sender), keys: VecDeque::new(), _reader: reader }
    }

    async fn next(&mut self) -> Option<Key> {
        loop {
            if let Some(key) = self.keys.pop_front() {
                return Some(key);
            }
            let bytes = self.bytes.recv().await?;
            self.keys.extend(self.decoder.push(&bytes));
        }
    }
}

/// Passes on what is typed until there is no more, or nobody wants it.
fn read_all(read: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = [0; 8192];
    loop {
        match io::stdin().lock().read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                if read.blocking_send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
