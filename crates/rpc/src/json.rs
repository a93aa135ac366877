//! JSON written by programs in other languages, whose strings can contain a lone surrogate; Rust strings cannot.

use serde_json::Value;

/// Parses JSON. Lone surrogates and bytes that are not UTF-8 become U+FFFD: a string that was cut in the middle of a
/// character is not a reason to lose the whole message.
pub fn read_json(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| {
        let text = String::from_utf8_lossy(bytes);
        match replace_lone_surrogates(&text) {
            Some(text) => serde_json::from_str(&text),
            None if text.len() != bytes.len() => serde_json::from_str(&text),
            None => Err(error),
        }
    })
}

/// Replaces every lone surrogate; returns `None` if there is none. In JSON, only strings contain backslashes.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut output = String::with_capacity(text.len());
    let (mut rest, mut is_changed) = (text, false);
    while let Some(index) = rest.find('\\') {
        let (before, escape) = rest.split_at(index);
        output.push_str(before);
        let length = match utf16_escape(escape) {
            Some(0xD800..=0xDBFF) if matches!(escape.get(6..).and_then(utf16_escape), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                is_changed = true;
                output.push('\u{FFFD}');
                rest = &escape[6..];
                continue;
            }
            Some(_) => 6,
            None => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        let (kept, next) = escape.split_at(length);
        output.push_str(kept);
        rest = next;
    }
    output.push_str(rest);
    is_changed.then_some(output)
}

/// The UTF-16 code unit of a `\uXXXX` escape at the start of a text.
fn utf16_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lone_surrogates_and_invalid_bytes_are_replaced() {
        let cases: [(&[u8], Value); 14] = [
            (br#""\ud83d""#, json!("\u{FFFD}")),
            (br#""\ude00""#, json!("\u{FFFD}")),
            (br#""a\uD83Db""#, json!("a\u{FFFD}b")),
            (br#""\ud83d\ude00""#, json!("😀")),
            (br#""\ud83d\ud83d\ude00""#, json!("\u{FFFD}😀")),
            (br#""\ude00\ud83d""#, json!("\u{FFFD}\u{FFFD}")),
            (br#""\ud83d\n""#, json!("\u{FFFD}\n")),
            (br#""\ud83d\\ude00""#, json!("\u{FFFD}\\ude00")),
            (br#""\\ud83d""#, json!("\\ud83d")),
            (br#""\\\ud83d""#, json!("\\\u{FFFD}")),
            (br#"{"\ud83d":["\ude00",1]}"#, json!({ "\u{FFFD}": ["\u{FFFD}", 1] })),
            (b"\"a\xffb\"", json!("a\u{FFFD}b")),
            (b"\"\xed\xa0\xbd\"", json!("\u{FFFD}\u{FFFD}\u{FFFD}")),
            (b"\"\xff\\ud83d\"", json!("\u{FFFD}\u{FFFD}")),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read_json(bytes).unwrap(), expected, "{}", String::from_utf8_lossy(bytes));
        }
        for broken in [&br#""\ud83d"#[..], br#""\ud83"#, br#""\ud83x""#, b"\\", b"\"\\", b"{\"a\":\"\\ud83d\"", b"\xff"]
        {
            assert!(read_json(broken).is_err(), "{}", String::from_utf8_lossy(broken));
        }
    }
}
