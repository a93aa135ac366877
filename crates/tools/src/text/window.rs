//! A numbered window onto a file of any size, read as a stream: memory holds the window and never the file.

use std::io::{self, BufRead};

use super::lines::display_line;

/// The requested part of a file, and its limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowRequest {
    /// The first line, from 1.
    pub(crate) first: u64,
    /// Maximum lines.
    pub(crate) lines: usize,
    /// Maximum bytes shown of one line.
    pub(crate) line: usize,
    /// Maximum bytes of text.
    pub(crate) room: usize,
    /// Maximum bytes read.
    pub(crate) scan: u64,
}

/// The text of a window.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextWindow {
    /// The numbered lines.
    pub(crate) text: String,
    /// The number of the last line read, shown or not.
    pub(crate) last: u64,
    /// Why reading ended.
    pub(crate) end: WindowEnd,
}

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowEnd {
    /// The file ended.
    File,
    /// The window is full and more lines follow.
    Full,
    /// Too many bytes were read before the window was full.
    Scanned,
}

/// Reads the window.
pub(crate) fn window(reader: &mut impl BufRead, request: WindowRequest) -> io::Result<TextWindow> {
    let mut seen = TextWindow { text: String::new(), last: 0, end: WindowEnd::File };
    let mut left = request.scan;
    let mut count = 0;
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(seen);
        }
        if count == request.lines || seen.text.len() >= request.room {
            return Ok(TextWindow { end: WindowEnd::Full, ..seen });
        }
        let keep = if seen.last + 1 >= request.first { request.line } else { 0 };
        let line = next_line(reader, keep, &mut left)?;
        seen.last += 1;
        if seen.last >= request.first {
            seen.text += &format!("{}\t{}\n", seen.last, line.display());
            count += 1;
        }
        if left == 0 {
            return Ok(TextWindow { end: WindowEnd::Scanned, ..seen });
        }
    }
}

/// A line's beginning and the length of the rest.
struct LineStart {
    bytes: Vec<u8>,
    rest: u64,
}

impl LineStart {
    fn display(&self) -> String {
        // A cut line ends with its last whole character.
        let split =
            if self.rest == 0 { 0 } else { self.bytes.utf8_chunks().last().map_or(0, |end| end.invalid().len()) };
        let text = display_line(&self.bytes[..self.bytes.len() - split], usize::MAX).replace('\0', "\u{fffd}");
        if self.rest == 0 { text } else { format!("{text} [… {} bytes more]", self.rest + split as u64) }
    }
}

fn next_line(reader: &mut impl BufRead, keep: usize, left: &mut u64) -> io::Result<LineStart> {
    let mut line = LineStart { bytes: Vec::new(), rest: 0 };
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() || *left == 0 {
            return Ok(line);
        }
        let buffer = &buffer[..buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX))];
        let newline = memchr::memchr(b'\n', buffer);
        let taken = newline.map_or(buffer.len(), |at| at + 1);
        let visible = newline.unwrap_or(taken);
        let kept = visible.min(keep - line.bytes.len());
        line.bytes.extend_from_slice(&buffer[..kept]);
        line.rest += (visible - kept) as u64;
        reader.consume(taken);
        *left -= taken as u64;
        if newline.is_some() {
            return Ok(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    const ASK: WindowRequest = WindowRequest { first: 1, lines: 10, line: 20, room: 1000, scan: 1000 };

    fn see(file: &[u8], ask: WindowRequest) -> (String, u64, WindowEnd) {
        let whole = window(&mut &file[..], ask).unwrap();
        let bitwise = window(&mut BufReader::with_capacity(1, file), ask).unwrap();
        assert_eq!(whole, bitwise);
        (whole.text, whole.last, whole.end)
    }

    #[test]
    fn a_small_file_is_shown_whole() {
        assert_eq!(see(b"a\r\nb", ASK), ("1\ta\n2\tb\n".into(), 2, WindowEnd::File));
        assert_eq!(see(b"a\n", ASK), ("1\ta\n".into(), 1, WindowEnd::File));
        assert_eq!(see(b"", ASK), (String::new(), 0, WindowEnd::File));
    }

    #[test]
    fn the_window_starts_and_ends_where_asked() {
        let file = b"1\n2\n3\n4\n5\n";
        assert_eq!(see(file, WindowRequest { first: 2, lines: 2, ..ASK }), ("2\t2\n3\t3\n".into(), 3, WindowEnd::Full));
        assert_eq!(see(file, WindowRequest { first: 4, lines: 2, ..ASK }), ("4\t4\n5\t5\n".into(), 5, WindowEnd::File));
        assert_eq!(see(file, WindowRequest { first: 9, ..ASK }), (String::new(), 5, WindowEnd::File));
        assert_eq!(see(file, WindowRequest { room: 5, ..ASK }).2, WindowEnd::Full);
    }

    #[test]
    fn long_lines_are_cut_and_counted() {
        let file = [&[b'x'; 50][..], b"\ny\n"].concat();
        assert_eq!(see(&file, ASK).0, format!("1\t{} [… 30 bytes more]\n2\ty\n", "x".repeat(20)));
        let file = format!("x{}", "é".repeat(15));
        assert_eq!(see(file.as_bytes(), ASK).0, format!("1\tx{} [… 12 bytes more]\n", "é".repeat(9)));
        assert_eq!(see(b"caf\xe9", ASK).0, "1\tcaf\u{fffd}\n");
    }

    #[test]
    fn reading_ends_when_it_costs_too_much() {
        assert_eq!(
            see(&[0; 5000], ASK),
            (format!("1\t{} [… 980 bytes more]\n", "\u{fffd}".repeat(20)), 1, WindowEnd::Scanned)
        );
        assert_eq!(
            see(&b"a\n".repeat(5000), WindowRequest { first: 4000, ..ASK }),
            (String::new(), 500, WindowEnd::Scanned)
        );
    }
}
