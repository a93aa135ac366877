//! Shows the difference between two versions of a file in a few lines.

use super::lines::{display_line, split_lines};

/// Lines of unchanged text shown before and after.
const CONTEXT_LINES: usize = 2;
/// Maximum removed lines, and maximum added lines, shown.
const MAX_LINES: usize = 12;
/// Maximum bytes shown of one line.
const MAX_LINE_BYTES: usize = 200;

/// The lines that differ, numbered and marked with `-` and `+`, with a few lines of context.
pub(crate) fn snippet(old: &[u8], new: &[u8]) -> String {
    let (old, new) = (split_lines(old), split_lines(new));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let shorter = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(shorter).take_while(|(a, b)| a == b).count();
    let before = start.saturating_sub(CONTEXT_LINES)..start;
    let after = new.len() - end..(new.len() - end + CONTEXT_LINES).min(new.len());
    let mut text = String::new();
    push_lines(&mut text, ' ', &new, before);
    push_lines(&mut text, '-', &old, start..old.len() - end);
    push_lines(&mut text, '+', &new, start..new.len() - end);
    push_lines(&mut text, ' ', &new, after);
    text
}

fn push_lines(text: &mut String, mark: char, lines: &[&[u8]], range: std::ops::Range<usize>) {
    let left_out = range.len().saturating_sub(MAX_LINES);
    for number in range.take(MAX_LINES) {
        *text += &format!("{mark}{}\t{}\n", number + 1, display_line(lines[number], MAX_LINE_BYTES));
    }
    if left_out > 0 {
        *text += &format!("{mark}… {left_out} lines more\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_change_and_a_little_around_it() {
        let old = b"a\nb\nc\nd\ne\nf\n";
        assert_eq!(snippet(old, b"a\nb\nc\nX\nY\ne\nf\n"), " 2\tb\n 3\tc\n-4\td\n+4\tX\n+5\tY\n 6\te\n 7\tf\n");
        assert_eq!(snippet(b"a\na\n", b"a\na\na\n"), " 1\ta\n 2\ta\n+3\ta\n");
        assert_eq!(snippet(b"a\n", b""), "-1\ta\n");
        assert_eq!(snippet(b"", b"a"), "+1\ta\n");
    }

    #[test]
    fn a_large_change_is_shortened() {
        let old: String = (0..1000).map(|n| format!("{n}\n")).collect();
        let text = snippet(old.as_bytes(), b"x\n");
        assert!(text.contains("-… 988 lines more\n+1\tx\n"), "{text}");
    }
}
