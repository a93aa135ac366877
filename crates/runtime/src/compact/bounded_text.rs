//! Cuts text to a bounded size, so that no part of it can be mistaken for other text.

/// The text on one line of at most `max` bytes.
pub fn one_line(text: &str, max: usize) -> String {
    // Read no more than this, even if most of it is blank.
    let start = &text[..text.floor_char_boundary(max.saturating_mul(4))];
    let words = start.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    if line.len() <= max && start.len() == text.len() { line } else { truncate_with_ellipsis(&line, max) }
}

/// The text in at most `max` bytes. It is cut between lines or at a line's end, so that every line keeps its beginning.
pub(super) fn clip_lines(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(NOTE_BYTES);
    let head = head(text, room * 2 / 3);
    let rest = &text[head.len()..];
    let tail = tail(rest, room - head.len());
    let note = format!("[… {} bytes left out …]", rest.len() - tail.len());
    let parts = [head.trim_end_matches('\n'), &note, tail];
    let clipped = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    if clipped.len() <= max { clipped } else { String::new() }
}

/// Room for the line that notes what was left out.
const NOTE_BYTES: usize = 64;

fn truncate_with_ellipsis(line: &str, max: usize) -> String {
    let end = line.floor_char_boundary(max.saturating_sub('…'.len_utf8()));
    if max < '…'.len_utf8() { String::new() } else { format!("{}…", &line[..end]) }
}

/// The first lines, or the beginning of the first if that alone is too long.
fn head(text: &str, max: usize) -> &str {
    let fits = &text[..text.floor_char_boundary(max)];
    match fits.rfind('\n') {
        Some(end) => &fits[..=end],
        None => fits,
    }
}

/// The last lines that fit whole.
fn tail(text: &str, max: usize) -> &str {
    let start = text.len().saturating_sub(max);
    let fits = &text[text.ceil_char_boundary(start)..];
    fits.find('\n').map_or("", |end| &fits[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_one_line_and_bounded() {
        assert_eq!(one_line(" a\n\n b\u{7}\tc ", 100), "a b c");
        assert_eq!(one_line("abcdef", 5), "ab…");
        assert_eq!(one_line(&"é".repeat(9), 2), "");
        for max in 0..40 {
            assert!(one_line(&"漢 字".repeat(20), max).len() <= max);
        }
    }

    #[test]
    fn clipping_keeps_the_start_of_every_line() {
        let text: String = (0..200).map(|n| format!("> line {n} of the data\n")).collect();
        for max in 0..text.len() + 2 {
            let clipped = clip_lines(&text, max);
            assert!(clipped.len() <= max);
            assert!(clipped.lines().all(|line| line.starts_with(">") || line.starts_with("[…")), "{clipped}");
        }
        assert!(clip_lines(&text, 1000).contains("line 0 ") && clip_lines(&text, 1000).contains("line 199 "));
    }

    #[test]
    fn a_single_long_line_keeps_its_start() {
        let clipped = clip_lines(&format!("> {}", "漢".repeat(1000)), 200);
        assert!(clipped.starts_with("> 漢") && clipped.len() <= 200 && clipped.ends_with("left out …]"), "{clipped}");
    }
}
