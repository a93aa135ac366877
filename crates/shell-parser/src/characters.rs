//! Characters that make a command look different from what it runs.

/// Why the text may look different from what it is; `None` if it does not.
pub(super) fn problem(text: &str) -> Option<&'static str> {
    text.chars().find_map(|c| match c {
        '\n' | '\t' => None,
        c if c.is_control() => Some("it contains a control character"),
        c if c.is_ascii() => None,
        c if c.is_whitespace() => Some("it contains a space that the shell does not treat as one"),
        c if is_invisible(c) => Some("it contains an invisible character"),
        _ => None,
    })
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
