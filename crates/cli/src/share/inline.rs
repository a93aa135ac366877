//! Inline Markdown as HTML. All text is escaped, and links lead only to web pages and mail addresses.

use tui::inline_markdown::{InlineSpan, InlineStyle, parse_inline};

use super::escape::escape_html;

/// Renders a line or a paragraph.
pub(super) fn html(text: &str) -> String {
    spans_html(&parse_inline(text))
}

fn spans_html(spans: &[InlineSpan<'_>]) -> String {
    spans.iter().map(span_html).collect()
}

fn span_html(span: &InlineSpan<'_>) -> String {
    match span {
        InlineSpan::Text(text) => escape_html(text),
        InlineSpan::Code { inner, .. } => format!("<code>{}</code>", escape_html(inner)),
        InlineSpan::Styled { mark, inner, .. } => {
            let tag = match mark {
                InlineStyle::Strong => "strong",
                InlineStyle::Emphasis => "em",
                InlineStyle::Strikethrough => "del",
            };
            format!("<{tag}>{}</{tag}>", spans_html(inner))
        }
        InlineSpan::Link { shown, address, .. } if is_safe(address) => anchor(address, &spans_html(shown)),
        InlineSpan::Link { shown, address, .. } => format!("{} ({})", spans_html(shown), escape_html(address)),
        InlineSpan::BareUrl(address) => anchor(address, &escape_html(address)),
    }
}

/// Whether a link may have this target.
fn is_safe(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
        && !url.contains(|c: char| c.is_control())
}

fn anchor(url: &str, shown: &str) -> String {
    format!("<a href=\"{}\" rel=\"noopener noreferrer nofollow\">{shown}</a>", escape_html(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_become_tags_and_other_text_is_unchanged() {
        assert_eq!(html("a **b** `c<d` *e* ~~f~~"), "a <strong>b</strong> <code>c&lt;d</code> <em>e</em> <del>f</del>");
        for line in
            ["2 * 3 * 4", "f(*args)", "a[0](", "[x] done", "snake_case_name", "`unfinished", "**", "__init__.py"]
        {
            assert_eq!(html(line), line);
        }
        assert_eq!(html("\\*not\\*"), "*not*");
    }

    #[test]
    fn links_lead_to_the_web_only() {
        let to = |address: &str| format!("<a href=\"{address}\" rel=\"noopener noreferrer nofollow\">");
        assert_eq!(html("[docs](https://a.b/c?d=1&e)"), format!("{}docs</a>", to("https://a.b/c?d=1&amp;e")));
        assert_eq!(html("see https://a.b/c."), format!("see {}https://a.b/c</a>.", to("https://a.b/c")));
        for hostile in [
            "[x](javascript:alert(1))",
            "[x](JAVASCRIPT:alert)",
            "[x](data:text/html,y)",
            "[x](/local)",
            "![x](file:///etc/passwd)",
        ] {
            let shown = html(hostile);
            assert!(!shown.contains("<a ") && !shown.contains("<img"), "{shown}");
        }
        let quoted = html("[x](https://a\"onclick=\"y)");
        assert!(quoted.contains("https://a&quot;onclick=&quot;y"), "{quoted}");
        let broken = html("[x](https://a\" onclick=\"y)");
        assert!(broken.contains("&quot; onclick=&quot;y") && broken.contains("href=\"https://a\""), "{broken}");
    }

    #[test]
    fn text_of_delimiters_is_parsed_quickly() {
        let shown = html(&"[*_`~~![".repeat(50_000));
        assert!(shown.len() >= 50_000);
    }
}
