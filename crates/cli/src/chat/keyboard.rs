//! Keys as they are pressed. They are read only for as long as somebody wants them: what is typed after that is left to
//! the next reader of the terminal.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;

use super::key::{KeyDecoder, KeyPress, TerminalInputMode};

/// Longer than the bytes of one key take to come.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(100);

/// The keyboard of the terminal on stdin.
#[derive(Debug)]
pub(super) struct Keyboard {
    bytes: mpsc::Receiver<Vec<u8>>,
    decoder: KeyDecoder,
    keys: VecDeque<KeyPress>,
    /// A thread of its own, since reading blocks.
    _reader: JoinHandle<()>,
    /// When this is closed, the thread ends.
    _stop: PipeWriter,
}

impl Keyboard {
    pub(super) fn listen(sender: TerminalInputMode) -> io::Result<Keyboard> {
        let (stopped, stop) = io::pipe()?;
        let (read, bytes) = mpsc::channel(16);
        let reader = std::thread::spawn(move || read_all(&read, &stopped));
        Ok(Keyboard { bytes, decoder: KeyDecoder::new(sender), keys: VecDeque::new(), _reader: reader, _stop: stop })
    }

    /// The next key; none when there will be no more. Nothing is lost when the wait for it is given up.
    pub(super) async fn next(&mut self) -> Option<KeyPress> {
        loop {
            if let Some(key) = self.keys.pop_front() {
                return Some(key);
            }
            if self.decoder.holds_escape() {
                match tokio::time::timeout(ESCAPE_TIMEOUT, self.bytes.recv()).await {
                    Ok(bytes) => self.keys.extend(self.decoder.push(&bytes?)),
                    Err(_alone) => return self.decoder.take_escape(),
                }
            } else {
                let bytes = self.bytes.recv().await?;
                self.keys.extend(self.decoder.push(&bytes));
            }
        }
    }

    /// Whether more keys were pressed already.
    pub(super) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Forgets what was typed and not yet taken.
    pub(super) fn discard_pending(&mut self) {
        host::terminal::discard_input();
        while self.bytes.try_recv().is_ok() {}
        self.keys.clear();
    }
}

/// Passes on what is typed until there is no more, or nobody wants it.
fn read_all(read: &mpsc::Sender<Vec<u8>>, stopped: &PipeReader) {
    let mut buffer = [0; 8192];
    while host::terminal::wait_for_input(stopped) {
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
