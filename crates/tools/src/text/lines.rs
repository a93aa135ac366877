//! Lines of a file as bytes, and how they end.

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEndings {
    /// All with `\n`, or there is none.
    Lf,
    /// All with `\r\n`.
    CrLf,
    /// Some this way, some that.
    Mixed,
}

impl LineEndings {
    /// Looks at every line.
    pub(crate) fn of(bytes: &[u8]) -> LineEndings {
        let (mut lf, mut crlf) = (false, false);
        for line in split(bytes) {
            crlf |= line.ends_with(b"\r\n");
            lf |= line.ends_with(b"\n") && !line.ends_with(b"\r\n");
        }
        match (lf, crlf) {
            (_, false) => LineEndings::Lf,
            (false, true) => LineEndings::CrLf,
            (true, true) => LineEndings::Mixed,
        }
    }

    /// What ends a new line.
    pub(crate) fn newline(self) -> &'static [u8] {
        match self {
            LineEndings::Lf | LineEndings::Mixed => b"\n",
            LineEndings::CrLf => b"\r\n",
        }
    }
}

/// The lines with their ends; no empty one after the last end.
pub(crate) fn split(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// The text with every line ended by `\r\n`.
pub(crate) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The line without its end.
pub(crate) fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line for showing: without its end, at most about `max` bytes.
pub(crate) fn display_line(line: &[u8], max: usize) -> String {
    let text = String::from_utf8_lossy(bare(line));
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
    fn endings_are_told_apart() {
        for (bytes, expected) in [
            (&b""[..], LineEndings::Lf),
            (b"a", LineEndings::Lf),
            (b"a\nb", LineEndings::Lf),
            (b"a\r\nb", LineEndings::CrLf),
            (b"a\r\nb\n", LineEndings::Mixed),
            (b"a\rb", LineEndings::Lf),
        ] {
            assert_eq!(LineEndings::of(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(display_line("ééé\r\n".as_bytes(), 6), "ééé");
        assert_eq!(display_line("ééé\n".as_bytes(), 3), "é [… 4 bytes more]");
    }
}
