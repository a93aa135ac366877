//! Rows of text that fit a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::print;
use crate::style::{Role, Style};

/// How many columns a tab takes.
const TAB: &str = "    ";

/// A piece of text of one role. It holds nothing that could drive a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) role: Role,
    text: String,
}

/// One row of a terminal, or a line that is yet to be wrapped.
pub(super) type Row = Vec<Span>;

impl Span {
    pub(super) fn new(role: Role, text: &str) -> Span {
        Span { role, text: print::plain(text).replace('\n', " ").replace('\t', TAB) }
    }

    pub(super) fn plain(text: &str) -> Span {
        Span::new(Role::Plain, text)
    }

    pub(super) fn width(&self) -> usize {
        width(&self.text)
    }
}

/// What the rows of a wrapped line begin with.
#[derive(Debug, Clone, Default)]
pub(super) struct Lead {
    pub(super) first: Row,
    pub(super) rest: Row,
}

impl Lead {
    /// The first row as it is, the others set in by its width.
    pub(super) fn hanging(first: Span) -> Lead {
        let rest = Span::plain(&" ".repeat(first.width()));
        Lead { first: vec![first], rest: vec![rest] }
    }

    /// Every row alike.
    pub(super) fn same(span: Span) -> Lead {
        Lead { first: vec![span.clone()], rest: vec![span] }
    }
}

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// How many columns a row takes.
pub(super) fn row_width(row: &Row) -> usize {
    row.iter().map(Span::width).sum()
}

/// A row as pieces of text, each with its role.
pub(super) fn pieces(row: Row) -> Vec<(Role, String)> {
    row.into_iter().map(|span| (span.role, span.text)).collect()
}

/// A row as the terminal takes it.
pub(super) fn paint(row: &Row, style: Style) -> String {
    row.iter().map(|span| style.paint(span.role, &span.text)).collect()
}

/// As much of a text as fits, with a mark if that is not all.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// The first rows that have so many characters together, the last of them in part, and how many bytes are left out.
pub(super) fn clip(rows: Vec<Row>, most: usize) -> (Vec<Row>, usize) {
    let (mut clipped, mut left, mut rest) = (Vec::new(), most, 0);
    for row in rows {
        let mut kept = Row::new();
        for Span { role, text } in row {
            let shown: String = text.chars().take(left).collect();
            left -= shown.chars().count();
            rest += text.len() - shown.len();
            kept.push(Span { role, text: shown });
        }
        if row_width(&kept) > 0 || rest == 0 {
            clipped.push(kept);
        }
    }
    (clipped, rest)
}

/// Wraps a line between words; a word that is too long is cut.
pub(super) fn wrap(line: &[Span], columns: usize, lead: &Lead) -> Vec<Row> {
    let mut page = Page::new(columns, lead);
    for word in words(line) {
        page.add(word);
    }
    page.end()
}

/// Cuts a line into rows wherever they are full, and keeps every blank of it.
pub(super) fn cut(line: &[Span], columns: usize, lead: &Lead) -> Vec<Row> {
    let mut page = Page::new(columns, lead);
    for span in line {
        page.cut(span);
    }
    page.end()
}

/// Letters that stand together, and how many blanks come before them.
#[derive(Debug, Default)]
struct Word {
    blanks: usize,
    spans: Row,
}

fn words(line: &[Span]) -> Vec<Word> {
    let mut words = vec![Word::default()];
    for span in line {
        for (at, piece) in span.text.split(' ').enumerate() {
            if let (true, Some(word)) = (at > 0, words.last_mut()) {
                match word.spans.is_empty() {
                    true => word.blanks += 1,
                    false => words.push(Word { blanks: 1, spans: Row::new() }),
                }
            }
            if let (false, Some(word)) = (piece.is_empty(), words.last_mut()) {
                word.spans.push(Span { role: span.role, text: piece.to_owned() });
            }
        }
    }
    words
}

/// Rows that are being filled.
struct Page<'a> {
    columns: usize,
    lead: &'a Lead,
    rows: Vec<Row>,
    row: Row,
    used: usize,
    /// Whether the row holds nothing but its lead.
    fresh: bool,
}

impl Page<'_> {
    fn new(columns: usize, lead: &Lead) -> Page<'_> {
        // A lead that leaves no room is left out.
        let columns = columns.max(row_width(&lead.first).max(row_width(&lead.rest)) + 2);
        Page { columns, lead, rows: Vec::new(), row: lead.first.clone(), used: row_width(&lead.first), fresh: true }
    }

    fn add(&mut self, word: Word) {
        let wide = row_width(&word.spans);
        if self.used + word.blanks + wide <= self.columns {
            self.blanks(word.blanks);
            word.spans.iter().for_each(|span| self.push(span.clone()));
        } else {
            if !self.fresh {
                self.turn();
            }
            word.spans.iter().for_each(|span| self.cut(span));
        }
    }

    fn blanks(&mut self, count: usize) {
        if count > 0 && !self.fresh {
            self.push(Span::plain(&" ".repeat(count)));
        }
    }

    fn cut(&mut self, span: &Span) {
        let mut piece = String::new();
        let mut wide = 0;
        for c in span.text.chars() {
            let next = c.width().unwrap_or(0);
            if self.used + wide + next > self.columns {
                self.push(Span { role: span.role, text: std::mem::take(&mut piece) });
                self.turn();
                wide = 0;
            }
            piece.push(c);
            wide += next;
        }
        self.push(Span { role: span.role, text: piece });
    }

    fn push(&mut self, span: Span) {
        if span.text.is_empty() {
            return;
        }
        self.used += span.width();
        self.fresh = false;
        match self.row.last_mut() {
            Some(last) if last.role == span.role => last.text.push_str(&span.text),
            Some(_) | None => self.row.push(span),
        }
    }

    fn turn(&mut self) {
        let row = std::mem::replace(&mut self.row, self.lead.rest.clone());
        self.rows.push(row);
        (self.used, self.fresh) = (row_width(&self.lead.rest), true);
    }

    fn end(mut self) -> Vec<Row> {
        self.rows.push(self.row);
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, columns: usize, lead: &Lead) -> Vec<String> {
        wrap(&[Span::plain(text)], columns, lead).iter().map(|row| paint(row, Style::Plain)).collect()
    }

    #[test]
    fn lines_break_between_words_and_long_words_are_cut() {
        let none = Lead::default();
        assert_eq!(wrapped("one two three", 8, &none), ["one two", "three"]);
        assert_eq!(wrapped("a abcdefghij b", 4, &none), ["a", "abcd", "efgh", "ij b"]);
        assert_eq!(wrapped("", 4, &none), [""]);
        assert_eq!(wrapped("one two", 5, &Lead::hanging(Span::plain("• "))), ["• one", "  two"]);
    }

    #[test]
    fn width_is_what_a_terminal_shows() {
        assert_eq!(wrapped("漢字漢字 ab", 5, &Lead::default()), ["漢字", "漢字", "ab"]);
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("abc", 3), "abc");
    }

    #[test]
    fn a_word_of_several_roles_stays_whole() {
        let line = [Span::plain("see "), Span::new(Role::Code, "main"), Span::plain(", then go")];
        let rows: Vec<String> = wrap(&line, 9, &Lead::default()).iter().map(|row| paint(row, Style::Plain)).collect();
        assert_eq!(rows, ["see main,", "then go"]);
    }

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(Span::plain("a\u{1b}[2J\rb\tc\nd").text, "a[2Jb    c d");
    }
}
