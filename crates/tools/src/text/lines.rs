//! Lines of a file as bytes, and their line endings.

/// The line endings of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEndings {
    /// All `\n`, or no line ending.
    Lf,
    /// All `\r\n`.
    CrLf,
    /// Both kinds.
    Mixed,
}

impl LineEndings {
    /// Detects the line endings of `bytes`.
    pub(crate) fn detect(bytes: &[u8]) -> LineEndings {
        let (mut lf, mut crlf) = (false, false);
        for line in split_lines(bytes) {
            crlf |= line.ends_with(b"\r\n");
            lf |= line.ends_with(b"\n") && !line.ends_with(b"\r\n");
        }
        match (lf, crlf) {
            (_, false) => LineEndings::Lf,
            (false, true) => LineEndings::CrLf,
            (true, true) => LineEndings::Mixed,
        }
    }

    /// The ending for a new line.
    pub(crate) fn newline(self) -> &'static [u8] {
        match self {
            LineEndings::Lf | LineEndings::Mixed => b"\n",
            LineEndings::CrLf => b"\r\n",
        }
    }
}

/// The lines with their endings, without an empty line after the last ending.
pub(crate) fn split_lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// The text with every line ending as `\r\n`.
pub(crate) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The line without its ending.
pub(crate) fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line for display: without its ending, at most about `max` bytes.
pub(crate) fn display_line(line: &[u8], max: usize) -> String {
    let text = String::from_utf8_lossy(without_ending(line));
    if text.len() <= max {
        return text.into_owned();
    }
    let end = text.floor_char_boundary(max);
    format!("{} [… {} bytes more]", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_are_detected() {
        for (bytes, expected) in [
            (&b""[..], LineEndings::Lf),
            (b"a", LineEndings::Lf),
            (b"a\nb", LineEndings::Lf),
            (b"a\r\nb", LineEndings::CrLf),
            (b"a\r\nb\n", LineEndings::Mixed),
            (b"a\rb", LineEndings::Lf),
        ] {
            assert_eq!(LineEndings::detect(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(display_line("ééé\r\n".as_bytes(), 6), "ééé");
        assert_eq!(display_line("ééé\n".as_bytes(), 3), "é [… 4 bytes more]");
    }
}
