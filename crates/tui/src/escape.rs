//! Makes invisible characters in untrusted text visible.

/// Escapes control characters and invisible characters, so that the text on screen is the actual text in its actual
/// order.
pub fn escape_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if c.is_control() || is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Whether a character is invisible, or changes the display order of others.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_and_control_characters_are_escaped() {
        assert_eq!(escape_invisible("rm\u{1b}[8m -r\u{202e}fdp.x\r\n\tü"), "rm\\u{1b}[8m -r\\u{202e}fdp.x\\u{d}\n\tü");
        assert_eq!(escape_invisible("a\u{200b}b\u{e0041}c\u{9b}d"), "a\\u{200b}b\\u{e0041}c\\u{9b}d");
    }
}
