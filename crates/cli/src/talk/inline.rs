//! Markdown within a line, as a row of a terminal.

use super::text::{Row, Span};
use crate::inline::{Mark, Piece, pieces};
use crate::style::{Role, Style};

/// Reads a line. Without colour code keeps its marks, since nothing else would tell it from the rest.
pub(super) fn spans(line: &str, style: Style) -> Row {
    let mut row = Row::new();
    pieces(line).iter().for_each(|piece| add(&mut row, piece, Role::Plain, style));
    row
}

/// Adds a piece that stands within others of this role.
fn add(row: &mut Row, piece: &Piece<'_>, role: Role, style: Style) {
    match piece {
        Piece::Text(words) => row.push(Span::new(role, words)),
        Piece::Address(address) => row.push(Span::new(role, address)),
        Piece::Code { whole, inner } => {
            let shown = match style {
                Style::Plain => whole,
                Style::Colour => inner,
            };
            row.push(Span::new(Role::Code, shown));
        }
        // No terminal is sure to strike words out.
        Piece::Marked { mark: Mark::Struck, whole, .. } => row.push(Span::new(role, whole)),
        Piece::Marked { mark: Mark::Strong | Mark::Emphasis, inner, .. } => {
            inner.iter().for_each(|piece| add(row, piece, Role::Strong, style));
        }
        Piece::Link { words, address, .. } if words == address => row.push(Span::new(Role::Code, address)),
        Piece::Link { shown, address, .. } => {
            shown.iter().for_each(|piece| add(row, piece, role, style));
            row.push(Span::new(role, " "));
            row.push(Span::new(Role::Code, &format!("({address})")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::text::paint;

    fn plain(line: &str) -> String {
        paint(&spans(line, Style::Plain), Style::Plain)
    }

    #[test]
    fn marks_become_roles() {
        let roles = |line| spans(line, Style::Colour).into_iter().map(|span| span.role).collect::<Vec<_>>();
        assert_eq!(
            roles("a **b** `c` *d*"),
            [Role::Plain, Role::Strong, Role::Plain, Role::Code, Role::Plain, Role::Strong]
        );
        assert_eq!(paint(&spans("`a`", Style::Colour), Style::Plain), "a");
    }

    #[test]
    fn without_colour_it_reads_well() {
        assert_eq!(plain("run **this**: `ls -l`"), "run this: `ls -l`");
        assert_eq!(plain("[docs](https://a.b/c) and [x](x)"), "docs (https://a.b/c) and x");
    }

    #[test]
    fn what_is_no_markdown_stays_as_it_is() {
        for line in ["2 * 3 * 4", "a ** b", "f(*args)", "a[0](", "[x] done", "snake_case_name", "`unfinished", "**"] {
            assert_eq!(plain(line), line);
        }
        assert_eq!(plain("\\*not\\*"), "*not*");
    }
}
