//! Inline Markdown as a terminal row.

use super::text::{StyledRow, StyledSpan};
use crate::inline_markdown::{InlineSpan, InlineStyle, parse_inline};
use crate::style::{Style, TextRole};

/// Parses a line. Without colour, code keeps its backticks, which are then its only mark.
pub(super) fn spans(line: &str, style: Style) -> StyledRow {
    let mut row = StyledRow::new();
    parse_inline(line).iter().for_each(|span| push_span(&mut row, span, TextRole::Plain, style));
    row
}

/// Adds a span to the row; its plain text gets this role.
fn push_span(row: &mut StyledRow, span: &InlineSpan<'_>, role: TextRole, style: Style) {
    match span {
        InlineSpan::Text(text) => row.push(StyledSpan::new(role, text)),
        InlineSpan::BareUrl(url) => row.push(StyledSpan::new(role, url)),
        InlineSpan::Code { whole, inner } => {
            let shown = match style {
                Style::Plain => whole,
                Style::Colour => inner,
            };
            row.push(StyledSpan::new(TextRole::Code, shown));
        }
        // Not every terminal supports strikethrough.
        InlineSpan::Styled { mark: InlineStyle::Strikethrough, whole, .. } => row.push(StyledSpan::new(role, whole)),
        InlineSpan::Styled { mark: InlineStyle::Strong | InlineStyle::Emphasis, inner, .. } => {
            inner.iter().for_each(|span| push_span(row, span, TextRole::Strong, style));
        }
        InlineSpan::Link { words, address, .. } if words == address => {
            row.push(StyledSpan::new(TextRole::Code, address))
        }
        InlineSpan::Link { shown, address, .. } => {
            shown.iter().for_each(|span| push_span(row, span, role, style));
            row.push(StyledSpan::new(role, " "));
            row.push(StyledSpan::new(TextRole::Code, &format!("({address})")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::text::paint;

    fn plain(line: &str) -> String {
        paint(&spans(line, Style::Plain), Style::Plain)
    }

    #[test]
    fn marks_become_roles() {
        let roles = |line| spans(line, Style::Colour).into_iter().map(|span| span.role).collect::<Vec<_>>();
        assert_eq!(
            roles("a **b** `c` *d*"),
            [TextRole::Plain, TextRole::Strong, TextRole::Plain, TextRole::Code, TextRole::Plain, TextRole::Strong]
        );
        assert_eq!(paint(&spans("`a`", Style::Colour), Style::Plain), "a");
    }

    #[test]
    fn without_colour_it_reads_well() {
        assert_eq!(plain("run **this**: `ls -l`"), "run this: `ls -l`");
        assert_eq!(plain("[docs](https://a.b/c) and [x](x)"), "docs (https://a.b/c) and x");
    }

    #[test]
    fn text_without_markdown_is_unchanged() {
        for line in ["2 * 3 * 4", "a ** b", "f(*args)", "a[0](", "[x] done", "snake_case_name", "`unfinished", "**"] {
            assert_eq!(plain(line), line);
        }
        assert_eq!(plain("\\*not\\*"), "*not*");
    }
}
