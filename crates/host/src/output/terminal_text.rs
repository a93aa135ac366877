//! Terminal output as plain text: escape sequences removed, overwritten progress lines reduced to their last state.

/// Renders `bytes` as a terminal would, as far as lines of text can show it.
pub(super) fn terminal_text(bytes: &[u8]) -> String {
    let mut screen = TerminalScreen::default();
    for &byte in bytes {
        screen.write_byte(byte);
    }
    screen.finished_lines.append(&mut screen.line);
    String::from_utf8(screen.finished_lines)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[derive(Default)]
struct TerminalScreen {
    finished_lines: Vec<u8>,
    line: Vec<u8>,
    /// Whether the cursor is at the start of the line, so that the next visible byte overwrites the line.
    returned: bool,
    state: EscapeState,
}

#[derive(Default)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and a byte that takes one more, such as a character set's name.
    Skip,
    /// In `ESC [ …`, up to its final letter.
    Control,
    /// In a title, link or other string, up to BEL or `ESC \`.
    StringSequence,
}

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
const BACKSPACE: u8 = 0x08;

impl TerminalScreen {
    fn write_byte(&mut self, byte: u8) {
        // An unfinished sequence must not swallow the following lines.
        if byte == b'\n' {
            self.state = EscapeState::Text;
        }
        self.state = match self.state {
            EscapeState::Text => self.write_text_byte(byte),
            // ESC starts a new sequence anywhere.
            EscapeState::Escape | EscapeState::Skip | EscapeState::Control | EscapeState::StringSequence
                if byte == ESCAPE =>
            {
                EscapeState::Escape
            }
            EscapeState::Escape => match byte {
                b'[' => EscapeState::Control,
                b']' | b'P' | b'X' | b'^' | b'_' => EscapeState::StringSequence,
                b' '..=b'/' => EscapeState::Skip,
                _ => EscapeState::Text,
            },
            EscapeState::Skip => EscapeState::Text,
            EscapeState::Control if byte == b'G' => {
                self.returned = true;
                EscapeState::Text
            }
            EscapeState::Control if (0x40..=0x7e).contains(&byte) => EscapeState::Text,
            EscapeState::Control => EscapeState::Control,
            EscapeState::StringSequence if byte == BELL => EscapeState::Text,
            EscapeState::StringSequence => EscapeState::StringSequence,
        }
    }

    fn write_text_byte(&mut self, byte: u8) -> EscapeState {
        match byte {
            ESCAPE => return EscapeState::Escape,
            b'\n' => {
                self.line.push(byte);
                self.finished_lines.append(&mut self.line);
                self.returned = false;
            }
            b'\r' => self.returned = true,
            BACKSPACE => self.erase(),
            0..0x20 | 0x7f if byte != b'\t' => {}
            _ => {
                if std::mem::take(&mut self.returned) {
                    self.line.clear();
                }
                self.line.push(byte);
            }
        }
        EscapeState::Text
    }

    fn erase(&mut self) {
        // A character is its first byte and the continuation bytes after it.
        while self.line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_a_terminal_would() {
        let table: &[(&[u8], &str)] = &[
            (b"one\ntwo\n", "one\ntwo\n"),
            (b"one\r\ntwo\r\n", "one\ntwo\n"),
            (b"\x1b[1;31mred\x1b[0m plain", "red plain"),
            (b" 10%\r 50%\r100%\ndone\n", "100%\ndone\n"),
            (b"50%\r\x1b[K100%\r\n", "100%\n"),
            (b"50%\x1b[2K\x1b[1G100%\n", "100%\n"),
            (b"kept\r", "kept"),
            (b"\x1b]0;title\x07text", "text"),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1b]never ends\nnext", "\nnext"),
            (b"\x1b[never\x1b(Bends\n", "everends\n"),
            (b"\x1b[31\x1b[0mtext", "text"),
            (b"\x1b\x1b[0mtext", "text"),
            (b"\x1b(Bascii", "ascii"),
            (b"a\x08b\tc\0\x07d\x7f", "b\tcd"),
            (b"\xc3\xa9\x08e", "e"),
            (b"caf\xe9\n", "caf\u{fffd}\n"),
            (b"\x1b", ""),
            (b"", ""),
        ];
        for (bytes, expected) in table {
            assert_eq!(terminal_text(bytes), *expected, "{}", bytes.escape_ascii());
        }
    }
}
