//! Decodes keys from the bytes of a terminal.

/// Maximum bytes of one paste; the rest is dropped.
pub(super) const MAX_PASTE_BYTES: usize = 8 << 20;

/// Longest escape sequence.
const MAX_SEQUENCE_BYTES: usize = 32;

const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// A key press or a paste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyPress {
    Char(char),
    Enter,
    NewLine,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    WordLeft,
    WordRight,
    EraseWord,
    EraseToStart,
    EraseToEnd,
    Yank,
    Redraw,
    Expand,
    Interrupt,
    EndOfInput,
    Escape,
    Paste(String),
    PasteTooLong,
}

/// How the terminal sends input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalInputMode {
    /// Single keys.
    Keys,
    /// Whole lines, where a line feed is the Enter key.
    Lines,
}

/// Decodes bytes into keys, however the bytes are split.
#[derive(Debug)]
pub(super) struct KeyDecoder {
    input_mode: TerminalInputMode,
    /// Bytes that are not decoded yet.
    pending: Vec<u8>,
    /// The pasted text so far, inside a paste.
    paste: Option<PasteBuffer>,
}

#[derive(Debug, Default)]
struct PasteBuffer {
    bytes: Vec<u8>,
    /// Whether bytes over the limit were dropped.
    dropped: bool,
}

impl KeyDecoder {
    pub(super) fn new(input_mode: TerminalInputMode) -> KeyDecoder {
        KeyDecoder { input_mode, pending: Vec::new(), paste: None }
    }

    /// Adds bytes; returns the complete keys.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<KeyPress> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while !self.pending.is_empty() {
            let taken = if self.paste.is_some() { self.take_paste(&mut keys) } else { self.take_key(&mut keys) };
            if taken == 0 {
                break;
            }
            self.pending.drain(..taken);
        }
        keys
    }

    /// Whether the pending input is an Escape, which may still begin another key if more bytes follow at once.
    pub(super) fn holds_escape(&self) -> bool {
        self.paste.is_none() && self.pending == [0x1b]
    }

    /// Takes the Escape key, once it is known that nothing follows.
    pub(super) fn take_escape(&mut self) -> Option<KeyPress> {
        self.holds_escape().then(|| {
            self.pending.clear();
            KeyPress::Escape
        })
    }

    /// Takes the bytes of the paste; returns how many.
    fn take_paste(&mut self, keys: &mut Vec<KeyPress>) -> usize {
        let end = self.pending.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        // The end marker may be incomplete.
        let text_len = end.unwrap_or_else(|| self.pending.len().saturating_sub(PASTE_END.len() - 1));
        let Some(paste) = &mut self.paste else { return 0 };
        let free = MAX_PASTE_BYTES.saturating_sub(paste.bytes.len());
        paste.dropped |= text_len > free;
        paste.bytes.extend_from_slice(&self.pending[..text_len.min(free)]);
        if end.is_none() {
            return text_len;
        }
        if let Some(PasteBuffer { bytes, dropped }) = self.paste.take() {
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace('\r', "\n");
            keys.push(if dropped { KeyPress::PasteTooLong } else { KeyPress::Paste(text) });
        }
        text_len + PASTE_END.len()
    }

    /// Takes one key; returns its length, or 0 if it is incomplete.
    fn take_key(&mut self, keys: &mut Vec<KeyPress>) -> usize {
        if self.pending.starts_with(PASTE_START) {
            self.paste = Some(PasteBuffer::default());
            return PASTE_START.len();
        }
        let first = self.pending[0];
        match first {
            0x1b => self.take_escape_sequence(keys),
            0x00..=0x1f | 0x7f => {
                keys.extend(self.control_key(first));
                1
            }
            _text => self.take_char(keys),
        }
    }

    fn control_key(&self, byte: u8) -> Option<KeyPress> {
        Some(match byte {
            0x01 => KeyPress::Home,
            0x02 => KeyPress::Left,
            0x03 => KeyPress::Interrupt,
            0x04 => KeyPress::EndOfInput,
            0x05 => KeyPress::End,
            0x06 => KeyPress::Right,
            0x08 | 0x7f => KeyPress::Backspace,
            0x09 => KeyPress::Tab,
            b'\n' if self.input_mode == TerminalInputMode::Keys => KeyPress::NewLine,
            b'\n' | b'\r' => KeyPress::Enter,
            0x0b => KeyPress::EraseToEnd,
            0x0c => KeyPress::Redraw,
            0x0e => KeyPress::Down,
            0x0f => KeyPress::Expand,
            0x10 => KeyPress::Up,
            0x15 => KeyPress::EraseToStart,
            0x17 => KeyPress::EraseWord,
            0x19 => KeyPress::Yank,
            _other => return None,
        })
    }

    fn take_char(&mut self, keys: &mut Vec<KeyPress>) -> usize {
        let length = match self.pending[0] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _one_or_broken => 1,
        };
        let Some(bytes) = self.pending.get(..length) else { return 0 };
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                keys.extend(text.chars().map(KeyPress::Char));
                length
            }
            Err(_) => 1,
        }
    }

    /// Takes an escape sequence such as an arrow key, or a key pressed with Alt.
    fn take_escape_sequence(&mut self, keys: &mut Vec<KeyPress>) -> usize {
        match self.pending.get(1) {
            None => 0,
            Some(b'[' | b'O') => self.take_control_sequence(keys),
            Some(b'\r' | b'\n') => push_alt_key(keys, KeyPress::NewLine),
            Some(b'b') => push_alt_key(keys, KeyPress::WordLeft),
            Some(b'f') => push_alt_key(keys, KeyPress::WordRight),
            Some(0x7f | 0x08) => push_alt_key(keys, KeyPress::EraseWord),
            // The Escape key, then another key.
            Some(_) => 1,
        }
    }

    fn take_control_sequence(&mut self, keys: &mut Vec<KeyPress>) -> usize {
        let ends = |byte: &u8| (0x40..=0x7e).contains(byte);
        let Some(end) = self.pending[2..].iter().take(MAX_SEQUENCE_BYTES).position(ends) else {
            return if self.pending.len() > MAX_SEQUENCE_BYTES { MAX_SEQUENCE_BYTES } else { 0 };
        };
        let length = 2 + end + 1;
        keys.extend(sequence_key(&self.pending[2..length]));
        length
    }
}

fn push_alt_key(keys: &mut Vec<KeyPress>, key: KeyPress) -> usize {
    keys.push(key);
    2
}

fn sequence_key(sequence: &[u8]) -> Option<KeyPress> {
    Some(match sequence {
        b"A" => KeyPress::Up,
        b"B" => KeyPress::Down,
        b"C" => KeyPress::Right,
        b"D" => KeyPress::Left,
        b"H" | b"1~" | b"7~" => KeyPress::Home,
        b"F" | b"4~" | b"8~" => KeyPress::End,
        b"3~" => KeyPress::Delete,
        b"1;5C" | b"1;3C" => KeyPress::WordRight,
        b"1;5D" | b"1;3D" => KeyPress::WordLeft,
        b"13;2u" | b"13;3u" => KeyPress::NewLine,
        _other => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8], step: usize) -> Vec<KeyPress> {
        let mut decoder = KeyDecoder::new(TerminalInputMode::Keys);
        bytes.chunks(step).flat_map(|bytes| decoder.push(bytes)).collect()
    }

    #[test]
    fn keys_do_not_depend_on_how_bytes_are_split() {
        let bytes = "aé漢\r\n\x1b\r\x1b[A\x1b[3~\x1b[1;5D\x1bb\x7f\x1b[200~x\r\ny\rz\x1b[31m\x1b[201~!".as_bytes();
        let expected = vec![
            KeyPress::Char('a'),
            KeyPress::Char('é'),
            KeyPress::Char('漢'),
            KeyPress::Enter,
            KeyPress::NewLine,
            KeyPress::NewLine,
            KeyPress::Up,
            KeyPress::Delete,
            KeyPress::WordLeft,
            KeyPress::WordLeft,
            KeyPress::Backspace,
            KeyPress::Paste("x\ny\nz\x1b[31m".into()),
            KeyPress::Char('!'),
        ];
        for step in 1..=bytes.len() {
            assert_eq!(keys(bytes, step), expected, "{step}");
        }
    }

    #[test]
    fn escape_is_a_key_only_if_nothing_follows() {
        let mut decoder = KeyDecoder::new(TerminalInputMode::Keys);
        assert_eq!(
            (decoder.push(b"a"), decoder.holds_escape(), decoder.take_escape()),
            (vec![KeyPress::Char('a')], false, None)
        );
        assert_eq!((decoder.push(b"\x1b"), decoder.holds_escape()), (Vec::new(), true));
        assert_eq!((decoder.push(b"b"), decoder.holds_escape()), (vec![KeyPress::WordLeft], false));
        decoder.push(b"\x1b");
        assert_eq!((decoder.take_escape(), decoder.push(b"b")), (Some(KeyPress::Escape), vec![KeyPress::Char('b')]));
    }

    #[test]
    fn invalid_input_is_skipped() {
        assert_eq!(keys(b"\xff\xc3(\x1b[999;999Xa", 3), [KeyPress::Char('('), KeyPress::Char('a')]);
        let endless = [b"\x1b[".to_vec(), vec![b'1'; 500], b"~a".to_vec()].concat();
        assert_eq!(keys(&endless, 7).last(), Some(&KeyPress::Char('a')));
    }

    #[test]
    fn a_paste_is_bounded() {
        let mut decoder = KeyDecoder::new(TerminalInputMode::Keys);
        assert!(decoder.push(PASTE_START).is_empty());
        let block = vec![b'x'; 1 << 20];
        for _ in 0..9 {
            assert!(decoder.push(&block).is_empty());
        }
        assert_eq!(decoder.push(PASTE_END), [KeyPress::PasteTooLong]);
        assert_eq!(decoder.push(b"a"), [KeyPress::Char('a')]);
    }

    #[test]
    fn whole_lines_end_with_enter() {
        assert_eq!(KeyDecoder::new(TerminalInputMode::Lines).push(b"a\n"), [KeyPress::Char('a'), KeyPress::Enter]);
    }
}
