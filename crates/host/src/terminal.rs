//! The user's terminal: its size, and single-key input.

use std::io::{self, PipeReader};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcgetwinsize,
};

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

impl TerminalSize {
    /// The default for a terminal that does not report its size.
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

/// Waits until stdin can be read; returns false if `stop` is closed before, and then nothing was read.
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

/// Discards unread input of the terminal on stdin.
pub fn discard_input() {
    // This fails if the terminal is closed.
    let _gone = rustix::termios::tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Whether this process may read the terminal on stdin: a background process would be stopped if it tried.
pub fn is_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// A terminal on stdin that returns every key as it is pressed, without echo. Dropping this restores the previous mode.
#[derive(Debug)]
pub struct RawTerminal {
    /// The mode to restore.
    previous_mode: Termios,
}

impl RawTerminal {
    /// Switches the terminal to single-key input.
    pub fn enter() -> io::Result<RawTerminal> {
        let before = rustix::termios::tcgetattr(io::stdin())?;
        let terminal = RawTerminal { previous_mode: before };
        terminal.reenter()?;
        Ok(terminal)
    }

    /// Switches the terminal again, after another program used it.
    pub fn reenter(&self) -> io::Result<()> {
        let mut mode = self.previous_mode.clone();
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
        // This fails if the terminal is closed.
        let _gone = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.previous_mode);
    }
}
