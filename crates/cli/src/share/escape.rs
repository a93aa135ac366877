//! Escapes text for an HTML page.

use tui::print;

/// Escapes text so that no character can start a tag or end an attribute, and removes control characters.
pub(super) fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in print::sanitize(text).chars() {
        match c {
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
    fn hostile_text_is_escaped() {
        let hostile = "</pre><script>alert('x')</script>&\"\u{1b}[2J";
        let shown = escape_html(hostile);
        assert!(!shown.contains(['<', '>', '"', '\'', '\u{1b}']), "{shown}");
        assert!(shown.contains("&lt;script&gt;alert(&#39;x&#39;)"), "{shown}");
    }
}
