//! A command's output in bounded memory: its head, its tail, and the number of bytes between them.

use protocol::Clip;

use super::terminal_text::terminal_text;

/// The head and the tail of a stream of any length.
#[derive(Debug)]
pub struct Capture {
    /// Maximum bytes of each part.
    part_bytes: usize,
    head: Vec<u8>,
    /// The tail is two parts: one full, one filling. Together they hold at least `part` bytes of the end.
    older: Vec<u8>,
    newer: Vec<u8>,
    total: u64,
}

impl Capture {
    /// A capture that never holds more than `cap` bytes.
    pub fn new(cap: usize) -> Capture {
        Capture { part_bytes: (cap / 3).max(1), head: Vec::new(), older: Vec::new(), newer: Vec::new(), total: 0 }
    }

    /// Appends the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let (head, mut rest) = bytes.split_at(bytes.len().min(self.part_bytes - self.head.len()));
        self.head.extend_from_slice(head);
        while !rest.is_empty() {
            if self.newer.len() == self.part_bytes {
                std::mem::swap(&mut self.older, &mut self.newer);
                self.newer.clear();
            }
            let (now, later) = rest.split_at(rest.len().min(self.part_bytes - self.newer.len()));
            self.newer.extend_from_slice(now);
            rest = later;
        }
    }

    /// The number of bytes in the stream so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The stream as plain text of at most `max` bytes, with a note of how much was left out.
    pub fn text(&self, max: usize) -> Clip {
        render(&StreamEnds { head: &self.head, tail: &[&self.older[..], &self.newer].concat(), total: self.total }, max)
    }
}

/// The two ends of a stream.
pub(super) struct StreamEnds<'a> {
    /// Its first bytes.
    pub(super) head: &'a [u8],
    /// Its last bytes; they follow the head without a gap when the lengths add up to `total`.
    pub(super) tail: &'a [u8],
    /// The length of the stream.
    pub(super) total: u64,
}

/// Room for the note of how much was left out.
const NOTE_BYTES: usize = 64;

/// The ends as plain text of at most `max` bytes.
pub(super) fn render(ends: &StreamEnds<'_>, max: usize) -> Clip {
    let kept = (ends.head.len() + ends.tail.len()) as u64;
    if kept >= ends.total {
        return Clip::new(&terminal_text(&[ends.head, ends.tail].concat()), max);
    }
    let room = max.saturating_sub(NOTE_BYTES);
    let (head, tail) = (terminal_text(ends.head), terminal_text(from_first_whole_line(ends.tail)));
    let head = &head[..head.floor_char_boundary(room * 2 / 3)];
    let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(room - room * 2 / 3))..];
    let left_out = ends.total.saturating_sub((head.len() + tail.len()) as u64);
    Clip::new(&format!("{head}\n[… {left_out} bytes left out …]\n{tail}"), max)
}

/// The tail from its first whole line, if one starts soon: a cut may have split a character or an escape sequence.
fn from_first_whole_line(tail: &[u8]) -> &[u8] {
    let soon = &tail[..tail.len() / 8];
    soon.iter().position(|&byte| byte == b'\n').map_or(tail, |at| &tail[at + 1..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn captured(stream: &[u8], cap: usize, step: usize) -> Capture {
        let mut capture = Capture::new(cap);
        stream.chunks(step).for_each(|bytes| capture.push(bytes));
        capture
    }

    #[test]
    fn a_short_stream_is_kept_whole() {
        let stream: Vec<u8> = (b'a'..=b'z').collect();
        for step in 1..stream.len() {
            assert_eq!(captured(&stream, 60, step).text(1000).as_str(), "abcdefghijklmnopqrstuvwxyz");
        }
    }

    #[test]
    fn a_long_stream_keeps_both_ends_in_bounded_memory() {
        let stream: Vec<u8> = (0..100_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        for step in [1, 7, 4096, 1 << 20] {
            let capture = captured(&stream, 3000, step);
            assert!(capture.head.len() + capture.older.len() + capture.newer.len() <= 3000);
            let text = capture.text(1500);
            assert!(text.as_str().len() <= 1500);
            assert!(text.as_str().starts_with("0\n1\n2\n") && text.as_str().ends_with("99998\n99999\n"), "{text}");
        }
    }

    #[test]
    fn the_note_counts_every_byte_that_is_not_shown() {
        let text = captured(&[b'x'; 10_000], 300, 64).text(1000).into_string();
        let shown = text.bytes().filter(|&byte| byte == b'x').count();
        assert!(text.contains(&format!("[… {} bytes left out …]", 10_000 - shown)), "{text}");
    }

    proptest! {
        /// The kept head and tail are parts of the stream, for every cap and every chunk size.
        #[test]
        fn the_kept_ends_match_the_stream(
            stream in proptest::collection::vec(any::<u8>(), 0..400),
            cap in 1_usize..300,
            step in 1_usize..50,
        ) {
            let capture = captured(&stream, cap, step);
            let tail = [&capture.older[..], &capture.newer].concat();
            prop_assert!(stream.starts_with(&capture.head) && stream.ends_with(&tail));
            prop_assert!(capture.head.len() + tail.len() <= cap.max(3));
            prop_assert!(capture.text(200).as_str().len() <= 200);
        }
    }

    #[test]
    fn no_limit_splits_a_character_or_is_exceeded() {
        let stream = "é漢🦀".repeat(400).into_bytes();
        for max in 0..400 {
            assert!(captured(&stream, 300, 11).text(max).as_str().len() <= max);
        }
    }
}
