//! The panel at the foot of the screen: incomplete text, status and the input line.

use host::TerminalSize;
use unicode_segmentation::UnicodeSegmentation;

use super::draft::InputDraft;
use super::text::{StyledRow, StyledSpan, width};
use crate::style::TextRole;

/// Maximum bytes of a draft that are laid out on either side of the cursor.
const MAX_LAID_OUT_BYTES: usize = 8 * 1024;

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
        let max_rows = (size.rows / 2).clamp(1, 12);
        let draft = self.draft_rows(size.columns.saturating_sub(1));
        let (cursor_row, cursor_column) = draft.cursor;
        let (window, first) = draft.window(max_rows);
        let rows_above = size.rows.saturating_sub(window.len() + 2);
        let notes = last_rows(&self.notes, rows_above.min(6));
        let tail = last_rows(&self.tail, rows_above - notes.len());
        let gap = if rows_above > 2 { vec![StyledRow::new()] } else { Vec::new() };
        let above = tail.len() + gap.len() + notes.len();
        let rows = [tail, &gap, notes, &window].concat();
        PanelLayout { rows, cursor: (above + cursor_row - first, cursor_column) }
    }

    /// The draft near its cursor, in rows.
    fn draft_rows(&self, columns: usize) -> DraftRows {
        let (above, before) = last_part(self.draft.before_cursor());
        let (below, after) = first_part(self.draft.after_cursor());
        let lead = width(self.prompt);
        let mut builder = DraftRowBuilder {
            columns: columns.max(lead + 2),
            indent: lead,
            rows: Vec::new(),
            row: String::new(),
            used_columns: lead,
        };
        builder.write(before);
        let cursor = (builder.rows.len(), builder.used_columns);
        builder.write(after);
        builder.break_row();
        let blanks = " ".repeat(lead);
        let prefix_of = |index| if index == 0 && above == 0 { self.prompt } else { &blanks };
        let row = |(index, text): (usize, &String)| {
            vec![StyledSpan::new(TextRole::Accent, prefix_of(index)), StyledSpan::plain(text)]
        };
        DraftRows {
            rows: builder.rows.iter().enumerate().map(row).collect(),
            cursor,
            lines_above: above,
            lines_below: below,
        }
    }
}

/// The part of a draft that is laid out.
struct DraftRows {
    rows: Vec<StyledRow>,
    cursor: (usize, usize),
    /// Lines of the draft before this part.
    lines_above: usize,
    /// Lines of the draft after this part.
    lines_below: usize,
}

impl DraftRows {
    /// Returns at most `most` rows around the cursor, and the index of the first.
    fn window(&self, max_rows: usize) -> (Vec<StyledRow>, usize) {
        let cursor = self.cursor.0;
        let first = if cursor < max_rows { 0 } else { cursor + 1 - max_rows };
        let mut shown: Vec<StyledRow> = self.rows.iter().skip(first).take(max_rows).cloned().collect();
        let below = self.lines_below + self.rows.len() - first - shown.len();
        let ellipsis =
            |count: usize, place: &str| vec![StyledSpan::new(TextRole::Dim, &format!("  … {count} more rows {place}"))];
        if let (true, Some(top)) = (self.lines_above + first > 0 && cursor > first, shown.first_mut()) {
            *top = ellipsis(self.lines_above + first + 1, "above");
        }
        let end = first + shown.len();
        if let (true, Some(bottom)) = (below > 0 && cursor + 1 < end, shown.last_mut()) {
            *bottom = ellipsis(below + 1, "below");
        }
        (shown, first)
    }
}

/// Returns the number of lines before the last part of a text, and that part.
fn last_part(text: &str) -> (usize, &str) {
    let start = text.len().saturating_sub(MAX_LAID_OUT_BYTES);
    match text.as_bytes()[start..].iter().position(|byte| *byte == b'\n') {
        Some(index) if start > 0 => {
            let (hidden, near) = text.split_at(start + index + 1);
            (hidden.matches('\n').count(), near)
        }
        Some(_) | None => (0, &text[text.ceil_char_boundary(start)..]),
    }
}

/// Returns the number of lines after the first part of a text, and that part.
fn first_part(text: &str) -> (usize, &str) {
    let (near, hidden) = text.split_at(text.floor_char_boundary(MAX_LAID_OUT_BYTES));
    (hidden.matches('\n').count(), near)
}

fn last_rows(rows: &[StyledRow], count: usize) -> &[StyledRow] {
    &rows[rows.len().saturating_sub(count)..]
}

struct DraftRowBuilder {
    columns: usize,
    /// Width of the prompt, by which every row is indented.
    indent: usize,
    rows: Vec<String>,
    /// The row that is being filled, and its width.
    row: String,
    used_columns: usize,
}

impl DraftRowBuilder {
    fn write(&mut self, text: &str) {
        for grapheme in text.graphemes(true) {
            if grapheme == "\n" {
                self.break_row();
                continue;
            }
            let grapheme = if grapheme == "\t" { "    " } else { grapheme };
            if self.used_columns + width(grapheme) > self.columns {
                self.break_row();
            }
            self.row.push_str(grapheme);
            self.used_columns += width(grapheme);
        }
        // The cursor needs its own column.
        if self.used_columns >= self.columns {
            self.break_row();
        }
    }

    fn break_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        self.used_columns = self.indent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::text::{paint, row_width};
    use crate::style::Style;

    fn lay(draft: &InputDraft, columns: usize, rows: usize) -> (Vec<String>, (usize, usize)) {
        let panel = Panel { tail: Vec::new(), notes: Vec::new(), prompt: "> ", draft };
        let layout = panel.layout(TerminalSize { columns, rows });
        assert!(layout.rows.len() < rows && layout.rows.iter().all(|row| row_width(row) < columns));
        // Above the line is a gap.
        let rows = layout.rows.iter().skip(1).map(|row| paint(row, Style::Plain)).collect();
        (rows, (layout.cursor.0 - 1, layout.cursor.1))
    }

    #[test]
    fn lines_are_indented_and_the_cursor_is_after_the_text() {
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
        let layout = panel.layout(TerminalSize { columns: 10, rows: 4 });
        assert!(layout.rows.len() <= 4 && layout.cursor.0 < layout.rows.len());
    }
}
