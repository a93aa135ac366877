//! Texts as people read them: on one line, cut, counted, quoted for a shell, and safe for a terminal.

/// Removes control characters and bidirectional overrides from untrusted text, so that it cannot control the terminal
/// or display in another order.
pub fn sanitize(text: &str) -> String {
    let is_bidi = |c: char| matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_bidi(*c))).collect()
}

/// A text on one line, at most `max_chars` characters long.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut words = text.split_whitespace();
    let mut line = String::new();
    for word in words.by_ref() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.chars().count() > max_chars {
            break;
        }
    }
    if line.chars().count() <= max_chars {
        return line;
    }
    let cut: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Quotes a text for a shell.
pub fn shell_quote(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_safe) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A number with its noun.
pub fn pluralize(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_joins_and_cuts_text() {
        assert_eq!(one_line("  a\n b\tc ", 10), "a b c");
        assert_eq!(one_line("abcdef ghijkl", 8), "abcdef …");
        assert_eq!(one_line(&"é".repeat(20), 5), "éééé…");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(sanitize("a\u{1b}[31mb\r\n"), "a[31mb\n");
        assert_eq!(sanitize("a\u{202e}b\u{2066}c\u{9b}d\u{2028}"), "abcd");
    }
}
