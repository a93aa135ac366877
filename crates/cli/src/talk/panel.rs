//! The foot of the screen: what is not complete yet, what goes on, and the line that is being written.

use host::TerminalSize;
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
    pub(super) fn lay(&self, size: TerminalSize) -> Laid {
        let most = (size.rows / 2).clamp(1, 12);
        let written = self.written(size.columns.saturating_sub(1));
        let (cursor_row, cursor_column) = written.cursor;
        let (window, first) = written.window(most);
        let room = size.rows.saturating_sub(window.len() + 2);
        let notes = last(&self.notes, room.min(6));
        let tail = last(&self.tail, room - notes.len());
        let gap = if room > 2 { vec![Row::new()] } else { Vec::new() };
        let above = tail.len() + gap.len() + notes.len();
        let rows = [tail, &gap, notes, &window].concat();
        Laid { rows, cursor: (above + cursor_row - first, cursor_column) }
    }

    /// The draft near its cursor, in rows.
    fn written(&self, columns: usize) -> Written {
        let (above, before) = near_end(self.draft.before());
        let (below, after) = near_start(self.draft.after());
        let lead = width(self.prompt);
        let mut page = Page { columns: columns.max(lead + 2), lead, rows: Vec::new(), row: String::new(), used: lead };
        page.write(before);
        let cursor = (page.rows.len(), page.used);
        page.write(after);
        page.turn();
        let blanks = " ".repeat(lead);
        let begin = |at| if at == 0 && above == 0 { self.prompt } else { &blanks };
        let row = |(at, text): (usize, &String)| vec![Span::new(Role::Accent, begin(at)), Span::plain(text)];
        Written { rows: page.rows.iter().enumerate().map(row).collect(), cursor, above, below }
    }
}

/// The part of a draft that is looked at.
struct Written {
    rows: Vec<Row>,
    cursor: (usize, usize),
    /// How many lines come before it.
    above: usize,
    /// How many lines come after it.
    below: usize,
}

impl Written {
    /// At most this many rows, that of the cursor among them; and which is the first.
    fn window(&self, most: usize) -> (Vec<Row>, usize) {
        let cursor = self.cursor.0;
        let first = if cursor < most { 0 } else { cursor + 1 - most };
        let mut shown: Vec<Row> = self.rows.iter().skip(first).take(most).cloned().collect();
        let below = self.below + self.rows.len() - first - shown.len();
        let more = |count: usize, place: &str| vec![Span::new(Role::Dim, &format!("  … {count} more rows {place}"))];
        if let (true, Some(top)) = (self.above + first > 0 && cursor > first, shown.first_mut()) {
            *top = more(self.above + first + 1, "above");
        }
        let end = first + shown.len();
        if let (true, Some(bottom)) = (below > 0 && cursor + 1 < end, shown.last_mut()) {
            *bottom = more(below + 1, "below");
        }
        (shown, first)
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
        let laid = panel.lay(TerminalSize { columns, rows });
        assert!(laid.rows.len() < rows && laid.rows.iter().all(|row| row_width(row) < columns));
        // Above the line is a gap.
        let rows = laid.rows.iter().skip(1).map(|row| paint(row, Style::Plain)).collect();
        (rows, (laid.cursor.0 - 1, laid.cursor.1))
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
        assert!(rows[0].contains("… 9990 more rows above"), "{rows:?}");
        let mut draft = Draft::new(&text);
        while draft.up() {}
        let (rows, cursor) = lay(&draft, 80, 24);
        assert_eq!((rows.len(), cursor), (12, (0, 2)));
        assert!(rows[11].contains("… 9990 more rows below"), "{rows:?}");
    }

    #[test]
    fn a_tiny_terminal_still_has_a_line() {
        let draft = Draft::new("some text that is longer than the terminal");
        let panel = Panel { tail: vec![Row::new(); 9], notes: vec![Row::new(); 9], prompt: "> ", draft: &draft };
        let laid = panel.lay(TerminalSize { columns: 10, rows: 4 });
        assert!(laid.rows.len() <= 4 && laid.cursor.0 < laid.rows.len());
    }
}
