//! The panel at the foot of the screen: incomplete text, status and the input line.

use host::TerminalSize;
use unicode_segmentation::UnicodeSegmentation;

use super::draft::InputDraft;
use super::text::{StyledRow, StyledSpan, width};
use crate::style::TextRole;

/// How much of a long draft is laid out on either side of the cursor.
const VISIBLE_BYTES: usize = 8 * 1024;

/// Contents of the panel.
#[derive(Debug)]
pub(super) struct Panel<'a> {
    /// Rows of incomplete text.
    pub(super) tail: Vec<StyledRow>,
    /// The status, or the hint for an ask.
    pub(super) notes: Vec<StyledRow>,
    /// The prompt of the input line.
    pub(super) prompt: &'a str,
    /// The input line.
    pub(super) draft: &'a InputDraft,
}

/// The panel in rows, each narrower than the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PanelLayout {
    pub(super) rows: Vec<StyledRow>,
    /// The row and column of the cursor.
    pub(super) cursor: (usize, usize),
}

impl Panel<'_> {
    /// Lays out the panel for a terminal of this size, with room for output above.
    pub(super) fn layout(&self, size: TerminalSize) -> PanelLayout {
        let most = (size.rows / 2).clamp(1, 12);
        let written = self.draft_rows(size.columns.saturating_sub(1));
        let (cursor_row, cursor_column) = written.cursor;
        let (window, first) = written.window(most);
        let room = size.rows.saturating_sub(window.len() + 2);
        let notes = last_rows(&self.notes, room.min(6));
        let tail = last_rows(&self.tail, room - notes.len());
        let gap = if room > 2 { vec![StyledRow::new()] } else { Vec::new() };
        let above = tail.len() + gap.len() + notes.len();
        let rows = [tail, &gap, notes, &window].concat();
        PanelLayout { rows, cursor: (above + cursor_row - first, cursor_column) }
    }

    /// The draft near its cursor, in rows.
    fn draft_rows(&self, columns: usize) -> DraftRows {
        let (above, before) = near_end(self.draft.before());
        let (below, after) = near_start(self.draft.after());
        let lead = width(self.prompt);
        let mut page =
            DraftRowBuilder { columns: columns.max(lead + 2), lead, rows: Vec::new(), row: String::new(), used: lead };
        page.write(before);
        let cursor = (page.rows.len(), page.used);
        page.write(after);
        page.break_row();
        let blanks = " ".repeat(lead);
        let begin = |at| if at == 0 && above == 0 { self.prompt } else { &blanks };
        let row =
            |(at, text): (usize, &String)| vec![StyledSpan::new(TextRole::Accent, begin(at)), StyledSpan::plain(text)];
        DraftRows { rows: page.rows.iter().enumerate().map(row).collect(), cursor, above, below }
    }
}

/// The part of a draft that is laid out.
struct DraftRows {
    rows: Vec<StyledRow>,
    cursor: (usize, usize),
    /// How many lines come before it.
    above: usize,
    /// How many lines come after it.
    below: usize,
}

impl DraftRows {
    /// Returns at most `most` rows around the cursor, and the index of the first.
    fn window(&self, most: usize) -> (Vec<StyledRow>, usize) {
        let cursor = self.cursor.0;
        let first = if cursor < most { 0 } else { cursor + 1 - most };
        let mut shown: Vec<StyledRow> = self.rows.iter().skip(first).take(most).cloned().collect();
        let below = self.below + self.rows.len() - first - shown.len();
        let more =
            |count: usize, place: &str| vec![StyledSpan::new(TextRole::Dim, &format!("  … {count} more rows {place}"))];
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
    let start = text.len().saturating_sub(VISIBLE_BYTES);
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
    let (near, hidden) = text.split_at(text.floor_char_boundary(VISIBLE_BYTES));
    (hidden.matches('\n').count(), near)
}

fn last_rows(rows: &[StyledRow], most: usize) -> &[StyledRow] {
    &rows[rows.len().saturating_sub(most)..]
}

struct DraftRowBuilder {
    columns: usize,
    lead: usize,
    rows: Vec<String>,
    row: String,
    used: usize,
}

impl DraftRowBuilder {
    fn write(&mut self, text: &str) {
        for letter in text.graphemes(true) {
            if letter == "\n" {
                self.break_row();
                continue;
            }
            let letter = if letter == "\t" { "    " } else { letter };
            if self.used + width(letter) > self.columns {
                self.break_row();
            }
            self.row.push_str(letter);
            self.used += width(letter);
        }
        // The cursor needs its own column.
        if self.used >= self.columns {
            self.break_row();
        }
    }

    fn break_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        self.used = self.lead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::text::{paint, row_width};
    use crate::style::Style;

    fn lay(draft: &InputDraft, columns: usize, rows: usize) -> (Vec<String>, (usize, usize)) {
        let panel = Panel { tail: Vec::new(), notes: Vec::new(), prompt: "> ", draft };
        let laid = panel.layout(TerminalSize { columns, rows });
        assert!(laid.rows.len() < rows && laid.rows.iter().all(|row| row_width(row) < columns));
        // Above the line is a gap.
        let rows = laid.rows.iter().skip(1).map(|row| paint(row, Style::Plain)).collect();
        (rows, (laid.cursor.0 - 1, laid.cursor.1))
    }

    #[test]
    fn lines_are_set_in_and_the_cursor_is_where_people_type() {
        assert_eq!(lay(&InputDraft::default(), 20, 24), (vec!["> ".into()], (0, 2)));
        assert_eq!(lay(&InputDraft::new("ab\ncd"), 20, 24), (vec!["> ab".into(), "  cd".into()], (1, 4)));
        let mut draft = InputDraft::new("漢字漢字");
        draft.left();
        assert_eq!(lay(&draft, 8, 24), (vec!["> 漢字".into(), "  漢字".into()], (1, 4)));
    }

    #[test]
    fn a_long_paste_shows_its_end() {
        let text = "a line of text\n".repeat(10_000);
        let (rows, (row, column)) = lay(&InputDraft::new(&text), 80, 24);
        assert_eq!((rows.len(), row, column), (12, 11, 2));
        assert!(rows[0].contains("… 9990 more rows above"), "{rows:?}");
        let mut draft = InputDraft::new(&text);
        while draft.up() {}
        let (rows, cursor) = lay(&draft, 80, 24);
        assert_eq!((rows.len(), cursor), (12, (0, 2)));
        assert!(rows[11].contains("… 9990 more rows below"), "{rows:?}");
    }

    #[test]
    fn a_tiny_terminal_still_has_a_line() {
        let draft = InputDraft::new("some text that is longer than the terminal");
        let panel =
            Panel { tail: vec![StyledRow::new(); 9], notes: vec![StyledRow::new(); 9], prompt: "> ", draft: &draft };
        let laid = panel.layout(TerminalSize { columns: 10, rows: 4 });
        assert!(laid.rows.len() <= 4 && laid.cursor.0 < laid.rows.len());
    }
}
