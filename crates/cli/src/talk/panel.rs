//! The foot of the screen: what is not complete yet, what goes on, and the line that is being written.

use host::Size;
use unicode_segmentation::UnicodeSegmentation;

use super::draft::Draft;
use super::text::{Row, Span, width};
use crate::style::Role;

/// How much of a long draft is looked at on either side of the cursor.
const NEAR: usize = 8 * 1024;

/// What is at the foot of the screen.
#[derive(Debug)]
pub(super) struct Panel<'a> {
    /// Rows of text that still grows.
    pub(super) tail: Vec<Row>,
    /// What goes on, or what is asked.
    pub(super) notes: Vec<Row>,
    /// What the line begins with.
    pub(super) prompt: &'a str,
    /// The line.
    pub(super) draft: &'a Draft,
}

/// The panel in rows, each narrower than the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Laid {
    pub(super) rows: Vec<Row>,
    /// The row and column of the cursor.
    pub(super) cursor: (usize, usize),
}

impl Panel<'_> {
    /// Lays the panel out for a terminal of this size; it leaves room for what is above.
    pub(super) fn lay(&self, size: Size) -> Laid {
        let most = (size.rows / 2).clamp(1, 12);
        let (lines, (cursor_row, cursor_column)) = self.lines(size.columns.saturating_sub(1));
        let (window, first) = window(lines, cursor_row, most);
        let room = size.rows.saturating_sub(window.len() + 1);
        let notes = last(&self.notes, room.min(6));
        let tail = last(&self.tail, room - notes.len());
        let above = tail.len() + notes.len();
        let rows = [tail, notes, &window].concat();
        Laid { rows, cursor: (above + cursor_row - first, cursor_column) }
    }

    /// The draft near its cursor, in rows, and where the cursor is.
    fn lines(&self, columns: usize) -> (Vec<Row>, (usize, usize)) {
        let (hidden_above, before) = near_end(self.draft.before());
        let (hidden_below, after) = near_start(self.draft.after());
        let lead = width(self.prompt);
        let mut page = Page { columns: columns.max(lead + 2), lead, rows: Vec::new(), row: String::new(), used: lead };
        page.write(before);
        let cursor = (page.rows.len(), page.used);
        page.write(after);
        page.turn();
        let mut rows = Vec::new();
        rows.extend(more(hidden_above, "above"));
        let shift = rows.len();
        for (at, text) in page.rows.iter().enumerate() {
            let blanks = " ".repeat(lead);
            let begin = if at == 0 && hidden_above == 0 { self.prompt } else { &blanks };
            rows.push(vec![Span::new(Role::Accent, begin), Span::plain(text)]);
        }
        rows.extend(more(hidden_below, "below"));
        (rows, (cursor.0 + shift, cursor.1))
    }
}

/// The part of a text that is near its end, and how many lines come before.
fn near_end(text: &str) -> (usize, &str) {
    let start = text.len().saturating_sub(NEAR);
    match text.as_bytes()[start..].iter().position(|byte| *byte == b'\n') {
        Some(at) if start > 0 => {
            let (hidden, near) = text.split_at(start + at + 1);
            (hidden.matches('\n').count(), near)
        }
        Some(_) | None => (0, &text[text.ceil_char_boundary(start)..]),
    }
}

/// The part of a text that is near its start, and how many lines come after.
fn near_start(text: &str) -> (usize, &str) {
    let (near, hidden) = text.split_at(text.floor_char_boundary(NEAR));
    (hidden.matches('\n').count(), near)
}

fn more(lines: usize, place: &str) -> Option<Row> {
    (lines > 0).then(|| vec![Span::new(Role::Dim, &format!("  … {lines} more lines {place}"))])
}

/// At most this many rows, those around the cursor among them; and which is the first.
fn window(rows: Vec<Row>, cursor: usize, most: usize) -> (Vec<Row>, usize) {
    let first = if cursor < most { 0 } else { cursor + 1 - most };
    let mut shown: Vec<Row> = rows.into_iter().skip(first).take(most).collect();
    if let (true, Some(top)) = (first > 0 && most > 1, shown.first_mut()) {
        *top = vec![Span::new(Role::Dim, &format!("  … {} more rows above", first + 1))];
    }
    (shown, first)
}

fn last(rows: &[Row], most: usize) -> &[Row] {
    &rows[rows.len().saturating_sub(most)..]
}

struct Page {
    columns: usize,
    lead: usize,
    rows: Vec<String>,
    row: String,
    used: usize,
}

impl Page {
    fn write(&mut self, text: &str) {
        for letter in text.graphemes(true) {
            if letter == "\n" {
                self.turn();
                continue;
            }
            let letter = if letter == "\t" { "    " } else { letter };
            if self.used + width(letter) > self.columns {
                self.turn();
            }
            self.row.push_str(letter);
            self.used += width(letter);
        }
        // The cursor needs a place of its own.
        if self.used >= self.columns {
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        self.used = self.lead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use crate::talk::text::{paint, row_width};

    fn lay(draft: &Draft, columns: usize, rows: usize) -> (Vec<String>, (usize, usize)) {
        let panel = Panel { tail: Vec::new(), notes: Vec::new(), prompt: "> ", draft };
        let laid = panel.lay(Size { columns, rows });
        assert!(laid.rows.len() < rows && laid.rows.iter().all(|row| row_width(row) < columns));
        (laid.rows.iter().map(|row| paint(row, Style::Plain)).collect(), laid.cursor)
    }

    #[test]
    fn lines_are_set_in_and_the_cursor_is_where_people_type() {
        assert_eq!(lay(&Draft::default(), 20, 24), (vec!["> ".into()], (0, 2)));
        assert_eq!(lay(&Draft::new("ab\ncd"), 20, 24), (vec!["> ab".into(), "  cd".into()], (1, 4)));
        let mut draft = Draft::new("漢字漢字");
        draft.left();
        assert_eq!(lay(&draft, 8, 24), (vec!["> 漢字".into(), "  漢字".into()], (1, 4)));
    }

    #[test]
    fn a_long_paste_shows_its_end() {
        let text = "a line of text\n".repeat(10_000);
        let (rows, (row, column)) = lay(&Draft::new(&text), 80, 24);
        assert_eq!((rows.len(), row, column), (12, 11, 2));
        assert!(rows[0].contains("more rows above"), "{rows:?}");
        let mut draft = Draft::new(&text);
        (0..10_001).for_each(|_| drop(draft.up()));
        let (rows, cursor) = lay(&draft, 80, 24);
        assert_eq!((rows.len(), cursor), (12, (0, 2)));
    }

    #[test]
    fn a_tiny_terminal_still_has_a_line() {
        let draft = Draft::new("some text that is longer than the terminal");
        let panel = Panel { tail: vec![Row::new(); 9], notes: vec![Row::new(); 9], prompt: "> ", draft: &draft };
        let laid = panel.lay(Size { columns: 10, rows: 4 });
        assert!(laid.rows.len() <= 4 && laid.cursor.0 < laid.rows.len());
    }
}
