//! The escapes of `$'…'`.

use super::characters;

/// Decodes the text between the quotes; returns `None` if an escape produces bytes that are not plain text.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => decoded.push(decode_escape(&mut rest)?),
            c => decoded.push(c),
        }
    }
    characters::problem(&decoded).is_none().then_some(decoded)
}

fn decode_escape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    match rest.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        c @ ('\\' | '\'' | '"' | '?') => Some(c),
        'x' => ascii(read_number(rest, 16, 2)?),
        'u' => ascii(read_number(rest, 16, 4)?),
        'U' => ascii(read_number(rest, 16, 8)?),
        c @ '0'..='7' => {
            let first = c.to_digit(8)?;
            let more_digits = rest.as_str().chars().take(2).take_while(|c| c.is_digit(8)).count();
            let value = (0..more_digits).try_fold(first, |sum, _| Some(sum * 8 + rest.next()?.to_digit(8)?))?;
            ascii(value)
        }
        _ => None,
    }
}

fn read_number(rest: &mut std::str::Chars<'_>, radix: u32, max_digits: usize) -> Option<u32> {
    let digits = rest.as_str().chars().take(max_digits).take_while(|c| c.is_digit(radix)).count();
    let text: String = rest.by_ref().take(digits).collect();
    u32::from_str_radix(&text, radix).ok()
}

/// Accepts only ASCII: what higher values mean depends on the locale.
fn ascii(value: u32) -> Option<char> {
    char::from_u32(value).filter(|c| c.is_ascii() && *c != '\0')
}
