//! Rows of text that fit a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::print;
use crate::style::{Style, TextRole};

pub(super) use crate::print::truncate;

/// What a tab is replaced with.
const TAB_SPACES: &str = "    ";

/// The indent of a line of a list.
const ENTRY_INDENT: &str = "  ";

/// The narrowest column for a description.
const MIN_DESCRIPTION_COLUMNS: usize = 24;

/// A piece of text of one role, without terminal control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledSpan {
    pub(super) role: TextRole,
    text: String,
}

/// One row of a terminal, or a line before wrapping.
pub(super) type StyledRow = Vec<StyledSpan>;

impl StyledSpan {
    pub(super) fn new(role: TextRole, text: &str) -> StyledSpan {
        StyledSpan { role, text: print::sanitize(text).replace('\n', " ").replace('\t', TAB_SPACES) }
    }

    pub(super) fn plain(text: &str) -> StyledSpan {
        StyledSpan::new(TextRole::Plain, text)
    }

    pub(super) fn width(&self) -> usize {
        width(&self.text)
    }
}

/// The prefixes of the rows of a wrapped line.
#[derive(Debug, Clone, Default)]
pub(super) struct LinePrefix {
    pub(super) first: StyledRow,
    pub(super) rest: StyledRow,
}

impl LinePrefix {
    /// Prefixes the first row, and indents the others by its width.
    pub(super) fn hanging(first: StyledSpan) -> LinePrefix {
        let rest = StyledSpan::plain(&" ".repeat(first.width()));
        LinePrefix { first: vec![first], rest: vec![rest] }
    }

    /// Prefixes every row.
    pub(super) fn repeated(span: StyledSpan) -> LinePrefix {
        LinePrefix { first: vec![span.clone()], rest: vec![span] }
    }
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// How many columns a row takes.
pub(super) fn row_width(row: &StyledRow) -> usize {
    row.iter().map(StyledSpan::width).sum()
}

/// A row as pieces of text, each with its role.
pub(super) fn role_pieces(row: StyledRow) -> Vec<(TextRole, String)> {
    row.into_iter().map(|span| (span.role, span.text)).collect()
}

/// A row as terminal output.
pub(super) fn paint(row: &StyledRow, style: Style) -> String {
    row.iter().map(|span| style.paint(span.role, &span.text)).collect()
}

/// Keeps the first `max_chars` characters of some rows; returns them and the number of omitted bytes.
pub(super) fn clip(rows: Vec<StyledRow>, max_chars: usize) -> (Vec<StyledRow>, usize) {
    let (mut clipped, mut remaining, mut omitted) = (Vec::new(), max_chars, 0);
    for row in rows {
        let mut kept = StyledRow::new();
        for StyledSpan { role, text } in row {
            let shown: String = text.chars().take(remaining).collect();
            remaining -= shown.chars().count();
            omitted += text.len() - shown.len();
            kept.push(StyledSpan { role, text: shown });
        }
        if row_width(&kept) > 0 || omitted == 0 {
            clipped.push(kept);
        }
    }
    (clipped, omitted)
}

/// Wraps a line between words; a word that is too long is cut.
pub(super) fn wrap(line: &[StyledSpan], columns: usize, lead: &LinePrefix) -> Vec<StyledRow> {
    let mut builder = StyledRowBuilder::new(columns, lead);
    for word in split_words(line) {
        builder.push_word(word);
    }
    builder.finish()
}

/// Wraps a line of a list: a name, at least two spaces, and its description. The description is wrapped in its own
/// column, or below the name if the terminal is too narrow for that.
pub(super) fn wrap_entry(line: &str, role: TextRole, columns: usize) -> Vec<StyledRow> {
    let whole = |line: &str| {
        wrap(&[StyledSpan::new(role, line)], columns, &LinePrefix::hanging(StyledSpan::plain(ENTRY_INDENT)))
    };
    let name_end = line.find("  ").filter(|_| width(ENTRY_INDENT) + width(line) > columns);
    let Some((name, rest)) = name_end.and_then(|end| line.split_at_checked(end)) else { return whole(line) };
    let description = StyledSpan::new(role, rest.trim_start());
    let name_column = &line[..line.len() - rest.trim_start().len()];
    if width(ENTRY_INDENT) + width(name_column) + MIN_DESCRIPTION_COLUMNS <= columns {
        return wrap(
            &[description],
            columns,
            &LinePrefix::hanging(StyledSpan::new(role, &format!("{ENTRY_INDENT}{name_column}"))),
        );
    }
    let below = LinePrefix::repeated(StyledSpan::plain(&ENTRY_INDENT.repeat(2)));
    [whole(name), wrap(&[description], columns, &below)].concat()
}

/// Cuts a line into full rows, and keeps every space.
pub(super) fn hard_wrap(line: &[StyledSpan], columns: usize, lead: &LinePrefix) -> Vec<StyledRow> {
    let mut builder = StyledRowBuilder::new(columns, lead);
    for span in line {
        builder.push_cut(span);
    }
    builder.finish()
}

/// A word, and the number of spaces before it.
#[derive(Debug, Default)]
struct SpacedWord {
    spaces: usize,
    spans: StyledRow,
}

fn split_words(line: &[StyledSpan]) -> Vec<SpacedWord> {
    let mut words = vec![SpacedWord::default()];
    for span in line {
        for (index, piece) in span.text.split(' ').enumerate() {
            if let (true, Some(word)) = (index > 0, words.last_mut()) {
                match word.spans.is_empty() {
                    true => word.spaces += 1,
                    false => words.push(SpacedWord { spaces: 1, spans: StyledRow::new() }),
                }
            }
            if let (false, Some(word)) = (piece.is_empty(), words.last_mut()) {
                word.spans.push(StyledSpan { role: span.role, text: piece.to_owned() });
            }
        }
    }
    words
}

/// Fills rows.
struct StyledRowBuilder<'a> {
    columns: usize,
    lead: &'a LinePrefix,
    rows: Vec<StyledRow>,
    /// The row that is being filled, and its width.
    row: StyledRow,
    used_columns: usize,
    /// Whether the row has nothing but its prefix.
    has_only_prefix: bool,
}

impl StyledRowBuilder<'_> {
    fn new(columns: usize, lead: &LinePrefix) -> StyledRowBuilder<'_> {
        // A prefix must leave room for text.
        let columns = columns.max(row_width(&lead.first).max(row_width(&lead.rest)) + 2);
        StyledRowBuilder {
            columns,
            lead,
            rows: Vec::new(),
            row: lead.first.clone(),
            used_columns: row_width(&lead.first),
            has_only_prefix: true,
        }
    }

    fn push_word(&mut self, word: SpacedWord) {
        let width = row_width(&word.spans);
        if self.used_columns + word.spaces + width <= self.columns {
            self.push_spaces(word.spaces);
            word.spans.iter().for_each(|span| self.push(span.clone()));
        } else {
            if !self.has_only_prefix {
                self.break_row();
            }
            word.spans.iter().for_each(|span| self.push_cut(span));
        }
    }

    fn push_spaces(&mut self, count: usize) {
        if count > 0 && !self.has_only_prefix {
            self.push(StyledSpan::plain(&" ".repeat(count)));
        }
    }

    fn push_cut(&mut self, span: &StyledSpan) {
        let mut piece = String::new();
        let mut width = 0;
        for c in span.text.chars() {
            let char_width = c.width().unwrap_or(0);
            if self.used_columns + width + char_width > self.columns {
                self.push(StyledSpan { role: span.role, text: std::mem::take(&mut piece) });
                self.break_row();
                width = 0;
            }
            piece.push(c);
            width += char_width;
        }
        self.push(StyledSpan { role: span.role, text: piece });
    }

    fn push(&mut self, span: StyledSpan) {
        if span.text.is_empty() {
            return;
        }
        self.used_columns += span.width();
        self.has_only_prefix = false;
        match self.row.last_mut() {
            Some(last) if last.role == span.role => last.text.push_str(&span.text),
            Some(_) | None => self.row.push(span),
        }
    }

    fn break_row(&mut self) {
        let row = std::mem::replace(&mut self.row, self.lead.rest.clone());
        self.rows.push(row);
        (self.used_columns, self.has_only_prefix) = (row_width(&self.lead.rest), true);
    }

    fn finish(mut self) -> Vec<StyledRow> {
        self.rows.push(self.row);
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize, lead: &LinePrefix) -> Vec<String> {
        wrap(&[StyledSpan::plain(text)], columns, lead).iter().map(|row| paint(row, Style::Plain)).collect()
    }

    #[test]
    fn lines_break_between_words_and_long_words_are_cut() {
        let none = LinePrefix::default();
        assert_eq!(wrapped("one two three", 8, &none), ["one two", "three"]);
        assert_eq!(wrapped("a abcdefghij b", 4, &none), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrapped("", 4, &none), [""]);
        assert_eq!(wrapped("one two", 5, &LinePrefix::hanging(StyledSpan::plain("• "))), ["• one", "  two"]);
    }

    #[test]
    fn list_entries_keep_their_columns_or_use_two_rows() {
        let rows = |columns| -> Vec<String> {
            let rows = wrap_entry("/compact    shortens the conversation now", TextRole::Plain, columns);
            rows.iter().map(|row| paint(row, Style::Plain)).collect()
        };
        assert_eq!(rows(60), ["  /compact    shortens the conversation now"]);
        assert_eq!(rows(40), ["  /compact    shortens the conversation", "              now"]);
        assert_eq!(rows(30), ["  /compact", "    shortens the conversation", "    now"]);
    }

    #[test]
    fn width_is_what_a_terminal_shows() {
        assert_eq!(wrapped("漢字漢字 ab", 5, &LinePrefix::default()), ["漢字", "漢字", "ab"]);
        assert_eq!(truncate("漢字漢字", 5), "漢字…");
        assert_eq!(truncate("abc", 3), "abc");
    }

    #[test]
    fn a_word_of_several_roles_stays_whole() {
        let line = [StyledSpan::plain("see "), StyledSpan::new(TextRole::Code, "main"), StyledSpan::plain(", then go")];
        let rows: Vec<String> =
            wrap(&line, 9, &LinePrefix::default()).iter().map(|row| paint(row, Style::Plain)).collect();
        assert_eq!(rows, ["see main,", "then go"]);
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(StyledSpan::plain("a\u{1b}[2J\rb\tc\nd").text, "a[2Jb    c d");
    }
}
