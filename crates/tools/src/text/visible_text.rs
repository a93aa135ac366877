//! Removes invisible characters from untrusted text.

/// Whether a character is visible, or white space. Characters that hide or reverse text are not: the model would read
/// text that the user does not see.
pub(crate) fn is_visible(character: char) -> bool {
    match character {
        '\n' | '\t' => true,
        '\u{ad}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' => false,
        _ => !character.is_control(),
    }
}

/// The text without invisible characters, and with `\n` line endings.
pub(crate) fn visible_text(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").chars().filter(|&character| is_visible(character)).collect()
}
