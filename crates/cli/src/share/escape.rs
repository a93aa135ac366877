//! Any text as text of a page.

use crate::print;

/// Any text as text: no letter of it can begin a tag or end an attribute, and none is invisible.
pub(super) fn escape_html(words: &str) -> String {
    let mut escaped = String::with_capacity(words.len());
    for letter in print::sanitize(words).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_others_is_anything_but_text() {
        let hostile = "</pre><script>alert('x')</script>&\"\u{1b}[2J";
        let shown = escape_html(hostile);
        assert!(!shown.contains(['<', '>', '"', '\'', '\u{1b}']), "{shown}");
        assert!(shown.contains("&lt;script&gt;alert(&#39;x&#39;)"), "{shown}");
    }
}
