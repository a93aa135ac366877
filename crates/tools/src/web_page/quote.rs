//! Quotes a window of untrusted text so that no line of it can be mistaken for anything else.

/// A window of a text, each line after a mark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QuotedWindow {
    /// The marked lines.
    pub(crate) lines: String,
    /// The position of the character after the window.
    pub(crate) end: usize,
    /// Whether there is more.
    pub(crate) is_cut: bool,
}

/// Bytes of the mark and the line ending.
const MARK_BYTES: usize = 3;

/// The lines from character `start` on that fit into `room` bytes, at least one character; none when `start` is past
/// the end.
pub(crate) fn quote(text: &str, start: usize, room: usize) -> Option<QuotedWindow> {
    let first = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(start)?;
    let mut quoted = QuotedWindow { lines: String::new(), end: start, is_cut: false };
    for line in text[first..].split_inclusive('\n') {
        let left = room.saturating_sub(quoted.lines.len() + MARK_BYTES);
        let fits = &line[..line.floor_char_boundary(left)];
        // A line that fits whole into the next window is not split.
        let part = match (fits.len() < line.len(), quoted.lines.is_empty(), line.len() + MARK_BYTES <= room) {
            (false, _, _) | (true, false, false) => fits,
            (true, true, _) if fits.is_empty() => &line[..line.ceil_char_boundary(1)],
            (true, true, _) => fits,
            (true, false, true) => "",
        };
        if !part.is_empty() {
            quoted.lines.push_str("> ");
            quoted.lines.push_str(part.strip_suffix('\n').unwrap_or(part));
            quoted.lines.push('\n');
            quoted.end += part.chars().count();
        }
        if part.len() < line.len() {
            quoted.is_cut = true;
            break;
        }
    }
    Some(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_each_other_without_a_gap() {
        let text = format!("first\n\n{}\nläst\n", "漢".repeat(100));
        for room in 0..400 {
            let (mut start, mut read) = (0, String::new());
            loop {
                let quoted = quote(&text, start, room).unwrap();
                assert!(quoted.lines.len() <= room.max(6 + MARK_BYTES), "{room}: {quoted:?}");
                assert!(quoted.lines.lines().all(|line| line.starts_with("> ")), "{room}: {quoted:?}");
                read.extend(text.chars().skip(start).take(quoted.end - start));
                assert!(quoted.end > start || !quoted.is_cut, "{room} stands still at {start}");
                start = quoted.end;
                if !quoted.is_cut {
                    break;
                }
            }
            assert_eq!(read, text, "{room}");
        }
    }

    #[test]
    fn a_line_that_fits_the_next_window_is_not_split() {
        let quoted = quote("one two\nthree four\n", 0, 16).unwrap();
        assert_eq!(quoted, QuotedWindow { lines: "> one two\n".into(), end: 8, is_cut: true });
    }

    #[test]
    fn a_start_past_the_end_returns_none() {
        assert_eq!(quote("äb", 3, 100), None);
        assert_eq!(quote("äb", 2, 100), Some(QuotedWindow { lines: String::new(), end: 2, is_cut: false }));
        assert_eq!(quote("", 0, 100), Some(QuotedWindow { lines: String::new(), end: 0, is_cut: false }));
    }
}
