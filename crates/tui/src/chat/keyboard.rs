//! Reads keys while a `Keyboard` exists; later input is left to the next reader of the terminal.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;

use super::key::{KeyDecoder, KeyPress, TerminalInputMode};

/// How long to wait for the rest of an escape sequence before Escape counts as a key of its own.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(100);

/// The keyboard of the terminal on stdin.
#[derive(Debug)]
pub(super) struct Keyboard {
    bytes: mpsc::Receiver<Vec<u8>>,
    decoder: KeyDecoder,
    keys: VecDeque<KeyPress>,
    /// A separate thread, because reading blocks.
    _reader: JoinHandle<()>,
    /// Closing this ends the thread.
    _stop: PipeWriter,
}

impl Keyboard {
    pub(super) fn listen(mode: TerminalInputMode) -> io::Result<Keyboard> {
        let (stopped, stop) = io::pipe()?;
        let (sender, bytes) = mpsc::channel(16);
        let reader = std::thread::spawn(move || forward_input(&sender, &stopped));
        Ok(Keyboard { bytes, decoder: KeyDecoder::new(mode), keys: VecDeque::new(), _reader: reader, _stop: stop })
    }

    /// Waits for the next key; `None` at the end of input. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<KeyPress> {
        loop {
            if let Some(key) = self.keys.pop_front() {
                return Some(key);
            }
            if self.decoder.holds_escape() {
                match tokio::time::timeout(ESCAPE_TIMEOUT, self.bytes.recv()).await {
                    Ok(bytes) => self.keys.extend(self.decoder.push(&bytes?)),
                    Err(_elapsed) => return self.decoder.take_escape(),
                }
            } else {
                let bytes = self.bytes.recv().await?;
                self.keys.extend(self.decoder.push(&bytes));
            }
        }
    }

    /// Whether more keys are pending.
    pub(super) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Discards pending input.
    pub(super) fn discard_pending(&mut self) {
        host::terminal::discard_input();
        while self.bytes.try_recv().is_ok() {}
        self.keys.clear();
    }
}

/// Forwards input until it ends or the receiver is gone.
fn forward_input(sender: &mpsc::Sender<Vec<u8>>, stopped: &PipeReader) {
    let mut buffer = [0; 8192];
    while host::terminal::wait_for_input(stopped) {
        match io::stdin().lock().read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                if sender.blocking_send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
