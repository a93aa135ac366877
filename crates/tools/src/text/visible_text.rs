//! Which letters of a stranger's text are passed on.

/// Whether people would see it, or white space. Letters that hide text, or turn it around, are not passed on: a model
/// would read what nobody sees.
pub(crate) fn is_visible(letter: char) -> bool {
    match letter {
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
        _ => !letter.is_control(),
    }
}

/// The text without what is not passed on, and with plain line ends.
pub(crate) fn visible_text(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").chars().filter(|&letter| is_visible(letter)).collect()
}
