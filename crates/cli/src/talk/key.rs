//! Keys, from the bytes that a terminal sends.

/// Most bytes of one paste; the rest is dropped.
pub(super) const PASTE_MAX: usize = 8 << 20;

/// Longest escape sequence that is waited for.
const SEQUENCE_MAX: usize = 32;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
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

/// What sends the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// A terminal that gives single keys.
    Keys,
    /// A terminal that gives whole lines, where a line feed is the Enter key.
    Lines,
}

/// Turns bytes into keys, however they are cut.
#[derive(Debug)]
pub(super) struct Decoder {
    sender: Sender,
    held: Vec<u8>,
    /// What was pasted so far, inside a paste.
    paste: Option<Pasted>,
}

#[derive(Debug, Default)]
struct Pasted {
    bytes: Vec<u8>,
    dropped: bool,
}

impl Decoder {
    pub(super) fn new(sender: Sender) -> Decoder {
        Decoder { sender, held: Vec::new(), paste: None }
    }

    /// Takes bytes; gives the keys that are complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.held.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while !self.held.is_empty() {
            let taken = if self.paste.is_some() { self.pasted(&mut keys) } else { self.key(&mut keys) };
            if taken == 0 {
                break;
            }
            self.held.drain(..taken);
        }
        keys
    }

    /// Whether the Escape key was pressed, unless more bytes follow at once: then it begins another key.
    pub(super) fn holds_escape(&self) -> bool {
        self.paste.is_none() && self.held == [0x1b]
    }

    /// The Escape key, once it is known that nothing follows.
    pub(super) fn take_escape(&mut self) -> Option<Key> {
        self.holds_escape().then(|| {
            self.held.clear();
            Key::Escape
        })
    }

    /// Takes what belongs to the paste.
    fn pasted(&mut self, keys: &mut Vec<Key>) -> usize {
        let end = self.held.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS);
        // The end may have come in part.
        let safe = end.unwrap_or_else(|| self.held.len().saturating_sub(PASTE_ENDS.len() - 1));
        let Some(paste) = &mut self.paste else { return 0 };
        let room = PASTE_MAX.saturating_sub(paste.bytes.len());
        paste.dropped |= safe > room;
        paste.bytes.extend_from_slice(&self.held[..safe.min(room)]);
        if end.is_none() {
            return safe;
        }
        if let Some(Pasted { bytes, dropped }) = self.paste.take() {
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace('\r', "\n");
            keys.push(if dropped { Key::PasteTooLong } else { Key::Paste(text) });
        }
        safe + PASTE_ENDS.len()
    }

    /// Takes one key; nothing when it is not complete.
    fn key(&mut self, keys: &mut Vec<Key>) -> usize {
        if self.held.starts_with(PASTE_BEGINS) {
            self.paste = Some(Pasted::default());
            return PASTE_BEGINS.len();
        }
        let first = self.held[0];
        match first {
            0x1b => self.escape(keys),
            0x00..=0x1f | 0x7f => {
                keys.extend(self.control(first));
                1
            }
            _text => self.letter(keys),
        }
    }

    fn control(&self, byte: u8) -> Option<Key> {
        Some(match byte {
            0x01 => Key::Home,
            0x02 => Key::Left,
            0x03 => Key::Interrupt,
            0x04 => Key::EndOfInput,
            0x05 => Key::End,
            0x06 => Key::Right,
            0x08 | 0x7f => Key::Backspace,
            0x09 => Key::Tab,
            b'\n' if self.sender == Sender::Keys => Key::NewLine,
            b'\n' | b'\r' => Key::Enter,
            0x0b => Key::EraseToEnd,
            0x0c => Key::Redraw,
            0x0e => Key::Down,
            0x0f => Key::Expand,
            0x10 => Key::Up,
            0x15 => Key::EraseToStart,
            0x17 => Key::EraseWord,
            0x19 => Key::Yank,
            _other => return None,
        })
    }

    fn letter(&mut self, keys: &mut Vec<Key>) -> usize {
        let length = match self.held[0] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _one_or_broken => 1,
        };
        let Some(bytes) = self.held.get(..length) else { return 0 };
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                keys.extend(text.chars().map(Key::Char));
                length
            }
            Err(_) => 1,
        }
    }

    /// A sequence such as an arrow key sends, or a key that was pressed together with Alt.
    fn escape(&mut self, keys: &mut Vec<Key>) -> usize {
        match self.held.get(1) {
            None => 0,
            Some(b'[' | b'O') => self.sequence(keys),
            Some(b'\r' | b'\n') => taken(keys, Key::NewLine),
            Some(b'b') => taken(keys, Key::WordLeft),
            Some(b'f') => taken(keys, Key::WordRight),
            Some(0x7f | 0x08) => taken(keys, Key::EraseWord),
            // The Escape key, and another one.
            Some(_) => 1,
        }
    }

    fn sequence(&mut self, keys: &mut Vec<Key>) -> usize {
        let ends = |byte: &u8| (0x40..=0x7e).contains(byte);
        let Some(end) = self.held[2..].iter().take(SEQUENCE_MAX).position(ends) else {
            return if self.held.len() > SEQUENCE_MAX { SEQUENCE_MAX } else { 0 };
        };
        let whole = 2 + end + 1;
        keys.extend(named(&self.held[2..whole]));
        whole
    }
}

fn taken(keys: &mut Vec<Key>, key: Key) -> usize {
    keys.push(key);
    2
}

fn named(sequence: &[u8]) -> Option<Key> {
    Some(match sequence {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        b"1;5C" | b"1;3C" => Key::WordRight,
        b"1;5D" | b"1;3D" => Key::WordLeft,
        b"13;2u" | b"13;3u" => Key::NewLine,
        _other => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8], step: usize) -> Vec<Key> {
        let mut decoder = Decoder::new(Sender::Keys);
        bytes.chunks(step).flat_map(|bytes| decoder.push(bytes)).collect()
    }

    #[test]
    fn keys_are_the_same_however_the_bytes_come() {
        let bytes = "aé漢\r\n\x1b\r\x1b[A\x1b[3~\x1b[1;5D\x1bb\x7f\x1b[200~x\r\ny\rz\x1b[31m\x1b[201~!".as_bytes();
        let expected = vec![
            Key::Char('a'),
            Key::Char('é'),
            Key::Char('漢'),
            Key::Enter,
            Key::NewLine,
            Key::NewLine,
            Key::Up,
            Key::Delete,
            Key::WordLeft,
            Key::WordLeft,
            Key::Backspace,
            Key::Paste("x\ny\nz\x1b[31m".into()),
            Key::Char('!'),
        ];
        for step in 1..=bytes.len() {
            assert_eq!(keys(bytes, step), expected, "{step}");
        }
    }

    #[test]
    fn the_escape_key_is_one_only_if_nothing_follows() {
        let mut decoder = Decoder::new(Sender::Keys);
        assert_eq!(
            (decoder.push(b"a"), decoder.holds_escape(), decoder.take_escape()),
            (vec![Key::Char('a')], false, None)
        );
        assert_eq!((decoder.push(b"\x1b"), decoder.holds_escape()), (Vec::new(), true));
        assert_eq!((decoder.push(b"b"), decoder.holds_escape()), (vec![Key::WordLeft], false));
        decoder.push(b"\x1b");
        assert_eq!((decoder.take_escape(), decoder.push(b"b")), (Some(Key::Escape), vec![Key::Char('b')]));
    }

    #[test]
    fn rubbish_is_passed_over() {
        assert_eq!(keys(b"\xff\xc3(\x1b[999;999Xa", 3), [Key::Char('('), Key::Char('a')]);
        let endless = [b"\x1b[".to_vec(), vec![b'1'; 500], b"~a".to_vec()].concat();
        assert_eq!(keys(&endless, 7).last(), Some(&Key::Char('a')));
    }

    #[test]
    fn a_paste_is_bounded() {
        let mut decoder = Decoder::new(Sender::Keys);
        assert!(decoder.push(PASTE_BEGINS).is_empty());
        let block = vec![b'x'; 1 << 20];
        for _ in 0..9 {
            assert!(decoder.push(&block).is_empty());
        }
        assert_eq!(decoder.push(PASTE_ENDS), [Key::PasteTooLong]);
        assert_eq!(decoder.push(b"a"), [Key::Char('a')]);
    }

    #[test]
    fn whole_lines_end_with_enter() {
        assert_eq!(Decoder::new(Sender::Lines).push(b"a\n"), [Key::Char('a'), Key::Enter]);
    }
}
