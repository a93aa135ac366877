//! The terminal that a person sits at: how large it is, and whether it gives single keys.

use std::io::{self, PipeReader};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcgetwinsize,
};

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

impl TerminalSize {
    /// What a terminal has that does not tell.
    const USUAL: TerminalSize = TerminalSize { columns: 80, rows: 24 };

    /// The size of the terminal on stdout, or on stderr when stdout goes elsewhere.
    pub fn read() -> TerminalSize {
        let size = tcgetwinsize(io::stdout()).or_else(|_| tcgetwinsize(io::stderr()));
        match size {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                TerminalSize { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            Ok(_) | Err(_) => TerminalSize::USUAL,
        }
    }
}

/// Waits until stdin can be read; gives false when `stop` is closed before, and then nothing was read.
pub fn wait_for_input(stop: &PipeReader) -> bool {
    let stdin = io::stdin();
    loop {
        let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[1].revents().is_empty() => return false,
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Forgets what was typed on the terminal on stdin and nobody has read yet.
pub fn discard_input() {
    // A terminal that is gone has nothing to forget.
    let _gone = rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Whether this process may read the terminal on stdin: one in the background would be stopped if it tried.
pub fn is_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// A terminal on stdin that gives every key as it is pressed and shows none. It is as it was when this is dropped.
#[derive(Debug)]
pub struct RawTerminal {
    before: Termios,
}

impl RawTerminal {
    /// Asks for single keys from now on.
    pub fn ask() -> io::Result<RawTerminal> {
        let before = rustix::termios::tcgetattr(io::stdin())?;
        let keys = RawTerminal { before };
        keys.ask_again()?;
        Ok(keys)
    }

    /// Asks once more, after somebody else had the terminal.
    pub fn ask_again(&self) -> io::Result<()> {
        let mut mode = self.before.clone();
        mode.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN;
        mode.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IXON | InputModes::ISTRIP;
        // Ctrl-C and Ctrl-\ are keys like others; Ctrl-Z still stops the process.
        mode.special_codes[SpecialCodeIndex::VINTR] = 0;
        mode.special_codes[SpecialCodeIndex::VQUIT] = 0;
        mode.special_codes[SpecialCodeIndex::VMIN] = 1;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, &mode)?;
        Ok(())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _gone = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
