//! A numbered window onto a file of any size, read as a stream: memory holds the window and never the file.

use std::io::{self, BufRead};

use super::lines::display_line;

/// The requested part of a file, and its limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowRequest {
    /// The first line, from 1.
    pub(crate) first_line: u64,
    /// Maximum lines.
    pub(crate) max_lines: usize,
    /// Maximum bytes shown of one line.
    pub(crate) max_line_bytes: usize,
    /// Maximum bytes of text.
    pub(crate) max_text_bytes: usize,
    /// Maximum bytes read.
    pub(crate) max_scan_bytes: u64,
}

/// The text of a window.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextWindow {
    /// The numbered lines.
    pub(crate) text: String,
    /// The number of the last line read, shown or not.
    pub(crate) last_line: u64,
    /// Why reading ended.
    pub(crate) end: WindowEnd,
}

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WindowEnd {
    /// The file ended.
    EndOfFile,
    /// The window is full and more lines follow.
    Full,
    /// Too many bytes were read before the window was full.
    ScanLimit,
}

/// Reads the window.
pub(crate) fn read_window(reader: &mut impl BufRead, request: WindowRequest) -> io::Result<TextWindow> {
    let mut result = TextWindow { text: String::new(), last_line: 0, end: WindowEnd::EndOfFile };
    let mut bytes_left = request.max_scan_bytes;
    let mut count = 0;
    loop {
        if reader.fill_buf()?.is_empty() {
            return Ok(result);
        }
        if count == request.max_lines || result.text.len() >= request.max_text_bytes {
            return Ok(TextWindow { end: WindowEnd::Full, ..result });
        }
        let max_bytes = if result.last_line + 1 >= request.first_line { request.max_line_bytes } else { 0 };
        let line = next_line(reader, max_bytes, &mut bytes_left)?;
        result.last_line += 1;
        if result.last_line >= request.first_line {
            result.text += &format!("{}\t{}\n", result.last_line, line.display());
            count += 1;
        }
        if bytes_left == 0 {
            return Ok(TextWindow { end: WindowEnd::ScanLimit, ..result });
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

fn next_line(reader: &mut impl BufRead, max_bytes: usize, bytes_left: &mut u64) -> io::Result<LineStart> {
    let mut line = LineStart { bytes: Vec::new(), rest: 0 };
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() || *bytes_left == 0 {
            return Ok(line);
        }
        let buffer = &buffer[..buffer.len().min(usize::try_from(*bytes_left).unwrap_or(usize::MAX))];
        let newline = memchr::memchr(b'\n', buffer);
        let taken = newline.map_or(buffer.len(), |at| at + 1);
        let visible = newline.unwrap_or(taken);
        let kept = visible.min(max_bytes - line.bytes.len());
        line.bytes.extend_from_slice(&buffer[..kept]);
        line.rest += (visible - kept) as u64;
        reader.consume(taken);
        *bytes_left -= taken as u64;
        if newline.is_some() {
            return Ok(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    const REQUEST: WindowRequest =
        WindowRequest { first_line: 1, max_lines: 10, max_line_bytes: 20, max_text_bytes: 1000, max_scan_bytes: 1000 };

    fn view(file: &[u8], request: WindowRequest) -> (String, u64, WindowEnd) {
        let whole = read_window(&mut &file[..], request).unwrap();
        let bitwise = read_window(&mut BufReader::with_capacity(1, file), request).unwrap();
        assert_eq!(whole, bitwise);
        (whole.text, whole.last_line, whole.end)
    }

    #[test]
    fn a_small_file_is_shown_whole() {
        assert_eq!(view(b"a\r\nb", REQUEST), ("1\ta\n2\tb\n".into(), 2, WindowEnd::EndOfFile));
        assert_eq!(view(b"a\n", REQUEST), ("1\ta\n".into(), 1, WindowEnd::EndOfFile));
        assert_eq!(view(b"", REQUEST), (String::new(), 0, WindowEnd::EndOfFile));
    }

    #[test]
    fn the_window_starts_and_ends_where_asked() {
        let file = b"1\n2\n3\n4\n5\n";
        assert_eq!(
            view(file, WindowRequest { first_line: 2, max_lines: 2, ..REQUEST }),
            ("2\t2\n3\t3\n".into(), 3, WindowEnd::Full)
        );
        assert_eq!(
            view(file, WindowRequest { first_line: 4, max_lines: 2, ..REQUEST }),
            ("4\t4\n5\t5\n".into(), 5, WindowEnd::EndOfFile)
        );
        assert_eq!(view(file, WindowRequest { first_line: 9, ..REQUEST }), (String::new(), 5, WindowEnd::EndOfFile));
        assert_eq!(view(file, WindowRequest { max_text_bytes: 5, ..REQUEST }).2, WindowEnd::Full);
    }

    #[test]
    fn long_lines_are_cut_and_counted() {
        let file = [&[b'x'; 50][..], b"\ny\n"].concat();
        assert_eq!(view(&file, REQUEST).0, format!("1\t{} [… 30 bytes more]\n2\ty\n", "x".repeat(20)));
        let file = format!("x{}", "é".repeat(15));
        assert_eq!(view(file.as_bytes(), REQUEST).0, format!("1\tx{} [… 12 bytes more]\n", "é".repeat(9)));
        assert_eq!(view(b"caf\xe9", REQUEST).0, "1\tcaf\u{fffd}\n");
    }

    #[test]
    fn reading_stops_at_the_scan_limit() {
        assert_eq!(
            view(&[0; 5000], REQUEST),
            (format!("1\t{} [… 980 bytes more]\n", "\u{fffd}".repeat(20)), 1, WindowEnd::ScanLimit)
        );
        assert_eq!(
            view(&b"a\n".repeat(5000), WindowRequest { first_line: 4000, ..REQUEST }),
            (String::new(), 500, WindowEnd::ScanLimit)
        );
    }
}
