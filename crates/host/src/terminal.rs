//! The terminal that a person sits at: how large it is, and whether it gives single keys.

use std::io;

use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios};

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

impl Size {
    /// What a terminal has that does not tell.
    const USUAL: Size = Size { columns: 80, rows: 24 };

    /// The size of the terminal on stdout.
    pub fn read() -> Size {
        match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
            }
            Ok(_) | Err(_) => Size::USUAL,
        }
    }
}

/// A terminal on stdin that gives every key as it is pressed and shows none. It is as it was when this is dropped.
#[derive(Debug)]
pub struct Keys {
    before: Termios,
}

impl Keys {
    /// Asks for single keys from now on.
    pub fn ask() -> io::Result<Keys> {
        let before = rustix::termios::tcgetattr(io::stdin())?;
        let keys = Keys { before };
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

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _gone = rustix::termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
