//! The escapes of `$'…'`.

use super::characters;

/// Decodes the text between the quotes; returns `None` if an escape produces bytes that are not plain text.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => decoded.push(escape(&mut rest)?),
            c => decoded.push(c),
        }
    }
    characters::problem(&decoded).is_none().then_some(decoded)
}

fn escape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    match rest.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        c @ ('\\' | '\'' | '"' | '?') => Some(c),
        'x' => ascii(number(rest, 16, 2)?),
        'u' => ascii(number(rest, 16, 4)?),
        'U' => ascii(number(rest, 16, 8)?),
        c @ '0'..='7' => {
            let first = c.to_digit(8)?;
            let further = rest.as_str().chars().take(2).take_while(|c| c.is_digit(8)).count();
            let value = (0..further).try_fold(first, |sum, _| Some(sum * 8 + rest.next()?.to_digit(8)?))?;
            ascii(value)
        }
        _ => None,
    }
}

fn number(rest: &mut std::str::Chars<'_>, radix: u32, most: usize) -> Option<u32> {
    let digits = rest.as_str().chars().take(most).take_while(|c| c.is_digit(radix)).count();
    let text: String = rest.by_ref().take(digits).collect();
    u32::from_str_radix(&text, radix).ok()
}

/// Values above 127 depend on the locale.
fn ascii(value: u32) -> Option<char> {
    char::from_u32(value).filter(|c| c.is_ascii() && *c != '\0')
}
