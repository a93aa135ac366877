//! Markdown within a line, as HTML. Every word is escaped, and a link leads only to the web or to a mailbox.

use super::escape::text;
use crate::inline::{Mark, Piece, pieces};

/// The HTML of a line or a paragraph.
pub(super) fn html(words: &str) -> String {
    all(&pieces(words))
}

fn all(pieces: &[Piece<'_>]) -> String {
    pieces.iter().map(one).collect()
}

fn one(piece: &Piece<'_>) -> String {
    match piece {
        Piece::Text(words) => text(words),
        Piece::Code { inner, .. } => format!("<code>{}</code>", text(inner)),
        Piece::Marked { mark, inner, .. } => {
            let tag = match mark {
                Mark::Strong => "strong",
                Mark::Emphasis => "em",
                Mark::Struck => "del",
            };
            format!("<{tag}>{}</{tag}>", all(inner))
        }
        Piece::Link { shown, address, .. } if is_safe(address) => anchor(address, &all(shown)),
        Piece::Link { shown, address, .. } => format!("{} ({})", all(shown), text(address)),
        Piece::Address(address) => anchor(address, &text(address)),
    }
}

/// Whether a link may lead there.
fn is_safe(address: &str) -> bool {
    let lower = address.to_ascii_lowercase();
    ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
        && !address.contains(|c: char| c.is_control())
}

fn anchor(address: &str, shown: &str) -> String {
    format!("<a href=\"{}\" rel=\"noopener noreferrer nofollow\">{shown}</a>", text(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_tags_and_what_is_no_markdown_stays_as_it_is() {
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
    fn a_text_of_marks_alone_does_not_take_long() {
        let shown = html(&"[*_`~~![".repeat(50_000));
        assert!(shown.len() >= 50_000);
    }
}
