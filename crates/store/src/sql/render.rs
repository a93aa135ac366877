//! Formats results for a model: a header, one line per row, cells separated by bars.

use std::fmt::Write;

use data_encoding::HEXLOWER;
use protocol::Clip;
use rusqlite::Statement;
use rusqlite::types::ValueRef;

/// Maximum bytes of one cell.
const MAX_CELL_BYTES: usize = 4096;

/// The text of one call's results.
#[derive(Debug)]
pub(super) struct ResultText {
    text: String,
    rows_left: usize,
    /// Maximum bytes of the text.
    max_bytes: usize,
}

impl ResultText {
    /// An empty text for at most so many rows and bytes.
    pub(super) fn new(rows: usize, room: usize) -> ResultText {
        ResultText { text: String::new(), rows_left: rows, max_bytes: room }
    }

    /// Adds a line with how many rows a statement changed.
    pub(super) fn add_changed_rows(&mut self, changed: u64) {
        match changed {
            0 => self.add_line("ok"),
            1 => self.add_line("1 row changed"),
            many => self.add_line(&format!("{many} rows changed")),
        }
    }

    /// Runs a statement and adds its rows, as many as there is room for.
    pub(super) fn add_table(&mut self, statement: &mut Statement<'_>) -> rusqlite::Result<()> {
        let columns = statement.column_names().map(escape_cell).collect::<Vec<_>>();
        let width = columns.len();
        self.add_line(&columns.join(" | "));
        let mut rows = statement.raw_query();
        let mut shown = 0;
        while let Some(row) = rows.next()? {
            if self.rows_left == 0 || self.is_full() {
                self.add_line(&format!("({shown} rows shown, there are more: add a WHERE, a LIMIT or an aggregate)"));
                return Ok(());
            }
            let cells = (0..width).map(|column| row.get_ref(column).map(cell)).collect::<rusqlite::Result<Vec<_>>>()?;
            self.add_line(&cells.join(" | "));
            self.rows_left -= 1;
            shown += 1;
        }
        self.add_line(&format!("({shown} row{})", if shown == 1 { "" } else { "s" }));
        Ok(())
    }

    /// The text, cut to its maximum size.
    pub(super) fn into_clip(self) -> Clip {
        Clip::new(self.text.trim_end(), self.max_bytes)
    }

    fn add_line(&mut self, line: &str) {
        // Thousands of statements with one line each must not exceed the limit either.
        if self.text.len() <= self.max_bytes.saturating_mul(2) {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn is_full(&self) -> bool {
        self.text.len() > self.max_bytes
    }
}

fn cell(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".into(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Text(text) => escape_cell(&String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => blob(bytes),
    }
}

/// Keeps a text on one line and within a cell.
fn escape_cell(text: &str) -> String {
    let cut = text.char_indices().map(|(at, _)| at).find(|at| *at >= MAX_CELL_BYTES).unwrap_or(text.len());
    let mut escaped = text[..cut].replace('\r', "\\r").replace('\n', "\\n");
    if cut < text.len() {
        write!(escaped, "… ({} bytes)", text.len()).unwrap_or_default();
    }
    escaped
}

fn blob(bytes: &[u8]) -> String {
    const SHOWN: usize = 64;
    let text = format!("x'{}", HEXLOWER.encode(&bytes[..bytes.len().min(SHOWN)]));
    if bytes.len() > SHOWN {
        return format!("{text}…' ({} bytes)", bytes.len());
    }
    text + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_line_of_bounded_size() {
        assert_eq!(cell(ValueRef::Text(b"a\nb")), "a\\nb");
        assert_eq!(cell(ValueRef::Null), "NULL");
        assert_eq!(cell(ValueRef::Real(1.0)), "1.0");
        assert_eq!(cell(ValueRef::Blob(&[0, 255])), "x'00ff'");
        let long = "é".repeat(MAX_CELL_BYTES);
        assert!(escape_cell(&long).ends_with("… (8192 bytes)") && escape_cell(&long).len() < MAX_CELL_BYTES + 32);
        assert!(blob(&[7; 1000]).ends_with("…' (1000 bytes)"));
    }
}
