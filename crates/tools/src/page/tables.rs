//! Tables: which of them hold facts, and how far one has been written.

use super::element::Element;
use super::markdown::Converter;
use super::tokens::{Token, Tokens};
use super::writer::Gap;

/// For each table of a page, in order, whether it is one to be shown as such. A table around another only arranges the
/// page, and one that does not end is none.
pub(super) fn shown(html: &str) -> Vec<bool> {
    let (mut shown, mut open) = (Vec::new(), Vec::new());
    for token in Tokens::new(html) {
        match token {
            Token::Open(tag) if tag.element == Element::Table => {
                open.push((shown.len(), true));
                shown.push(false);
            }
            Token::Close(Element::Table) => {
                if let Some((index, is_innermost)) = open.pop() {
                    shown[index] = is_innermost;
                }
                if let Some((_, is_innermost)) = open.last_mut() {
                    *is_innermost = false;
                }
            }
            Token::Open(_) | Token::Close(_) | Token::Text(_) | Token::Title(_) => {}
        }
    }
    shown
}

/// A table that is being written.
#[derive(Debug, Default)]
pub(super) struct Grid {
    /// Cells of the current row.
    cells: usize,
    /// Whether text belongs to a cell.
    is_in_cell: bool,
    /// Whether the line below the first row is written.
    is_ruled: bool,
}

/// A table that only arranges the page has no grid: its cells are lines.
impl Converter {
    pub(super) fn is_in_cell(&self) -> bool {
        self.grid.as_ref().is_some_and(|grid| grid.is_in_cell)
    }

    /// What stands in a cell stays in its line.
    pub(super) fn space_in_cell(&mut self, element: Element) {
        match element {
            Element::Heading(_)
            | Element::Apart
            | Element::Block
            | Element::Break
            | Element::Rule
            | Element::List(_)
            | Element::Item
            | Element::Quote
            | Element::Pre => self.writer.gap(Gap::Space),
            Element::Code
            | Element::Link
            | Element::Image
            | Element::Table
            | Element::Row
            | Element::Cell
            | Element::Base
            | Element::Meta
            | Element::Title
            | Element::Raw
            | Element::Hidden
            | Element::Inline => {}
        }
    }

    pub(super) fn open_table(&mut self) {
        self.gap(Gap::Apart);
        self.grid = self.is_table.then(Grid::default);
    }

    pub(super) fn open_cell(&mut self) {
        self.end_inline();
        match &mut self.grid {
            Some(grid) => {
                self.writer.gap(if grid.cells == 0 { Gap::Line } else { Gap::Space });
                self.writer.mark("|");
                self.writer.gap(Gap::Space);
                grid.cells += 1;
                grid.is_in_cell = true;
            }
            None => self.writer.gap(Gap::Line),
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
        if let Some(Grid { cells: cells @ 1.., is_ruled, .. }) = &mut self.grid {
            self.writer.gap(Gap::Space);
            self.writer.mark("|");
            if !std::mem::replace(is_ruled, true) {
                self.writer.gap(Gap::Line);
                self.writer.mark(&format!("|{}", " --- |".repeat(*cells)));
            }
            *cells = 0;
        }
        self.writer.gap(Gap::Line);
    }

    pub(super) fn close_table(&mut self) {
        self.end_row();
        self.grid = None;
        self.gap(Gap::Apart);
    }
}
