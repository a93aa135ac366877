//! Tables: which of them are data, and how far one has been written.

use super::element::HtmlElement;
use super::markdown::MarkdownConverter;
use super::tokens::{HtmlToken, HtmlTokens};
use super::writer::WordGap;

/// For each table of a page, in order, whether to show it as a table. A table around another one is only layout, and an
/// unclosed one does not count.
pub(super) fn visible_tables(html: &str) -> Vec<bool> {
    let (mut shown, mut open) = (Vec::new(), Vec::new());
    for token in HtmlTokens::new(html) {
        match token {
            HtmlToken::Open(tag) if tag.element == HtmlElement::Table => {
                open.push((shown.len(), true));
                shown.push(false);
            }
            HtmlToken::Close(HtmlElement::Table) => {
                if let Some((index, is_innermost)) = open.pop() {
                    shown[index] = is_innermost;
                }
                if let Some((_, is_innermost)) = open.last_mut() {
                    *is_innermost = false;
                }
            }
            HtmlToken::Open(_) | HtmlToken::Close(_) | HtmlToken::Text(_) | HtmlToken::Title(_) => {}
        }
    }
    shown
}

/// A table that is being written.
#[derive(Debug, Default)]
pub(super) struct TableState {
    /// Cells of the current row.
    cells: usize,
    /// Whether text is inside a cell.
    is_in_cell: bool,
    /// Whether the line below the first row has been written.
    is_ruled: bool,
}

/// A layout table has no grid: its cells become lines.
impl MarkdownConverter {
    pub(super) fn is_in_cell(&self) -> bool {
        self.grid.as_ref().is_some_and(|grid| grid.is_in_cell)
    }

    /// The content of a cell stays on one line.
    pub(super) fn space_in_cell(&mut self, element: HtmlElement) {
        match element {
            HtmlElement::Heading(_)
            | HtmlElement::Apart
            | HtmlElement::Block
            | HtmlElement::Break
            | HtmlElement::Rule
            | HtmlElement::List(_)
            | HtmlElement::Item
            | HtmlElement::Quote
            | HtmlElement::Pre => self.writer.gap(WordGap::Space),
            HtmlElement::Code
            | HtmlElement::Link
            | HtmlElement::Image
            | HtmlElement::Table
            | HtmlElement::Row
            | HtmlElement::Cell
            | HtmlElement::Base
            | HtmlElement::Meta
            | HtmlElement::Title
            | HtmlElement::Raw
            | HtmlElement::Hidden
            | HtmlElement::Inline => {}
        }
    }

    pub(super) fn open_table(&mut self) {
        self.gap(WordGap::EmptyLine);
        self.grid = self.shows_table.then(TableState::default);
    }

    pub(super) fn open_cell(&mut self) {
        self.end_inline();
        match &mut self.grid {
            Some(grid) => {
                self.writer.gap(if grid.cells == 0 { WordGap::Line } else { WordGap::Space });
                self.writer.write_mark("|");
                self.writer.gap(WordGap::Space);
                grid.cells += 1;
                grid.is_in_cell = true;
            }
            None => self.writer.gap(WordGap::Line),
        }
    }

    pub(super) fn close_cell(&mut self) {
        self.end_inline();
        if let Some(grid) = &mut self.grid {
            grid.is_in_cell = false;
        }
    }

    pub(super) fn end_row(&mut self) {
        self.close_cell();
        if let Some(TableState { cells: cells @ 1.., is_ruled, .. }) = &mut self.grid {
            self.writer.gap(WordGap::Space);
            self.writer.write_mark("|");
            if !std::mem::replace(is_ruled, true) {
                self.writer.gap(WordGap::Line);
                self.writer.write_mark(&format!("|{}", " --- |".repeat(*cells)));
            }
            *cells = 0;
        }
        self.writer.gap(WordGap::Line);
    }

    pub(super) fn close_table(&mut self) {
        self.end_row();
        self.grid = None;
        self.gap(WordGap::EmptyLine);
    }
}
