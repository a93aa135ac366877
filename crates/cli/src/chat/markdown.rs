//! Streaming Markdown: rows of complete lines, and of the incomplete last line.

use super::inline;
use super::text::{LinePrefix, StyledRow, StyledSpan, hard_wrap, wrap};
use crate::style::{Style, TextRole};

/// A line longer than this is shown before it is complete.
const MAX_HELD_BYTES: usize = 4096;

/// Indent of code.
const INDENT: &str = "    ";

/// Markdown that arrives in pieces.
#[derive(Debug)]
pub(super) struct MarkdownStream {
    style: Style,
    /// The incomplete line.
    line: String,
    /// The mark that closes the open fence.
    fence: Option<String>,
    /// The prefix for the rest of a long line whose beginning was shown.
    continuation: Option<LinePrefix>,
    /// Whether the last row was empty, to avoid a second empty row.
    blank: bool,
}

impl MarkdownStream {
    pub(super) fn new(style: Style) -> MarkdownStream {
        MarkdownStream { style, line: String::new(), fence: None, continuation: None, blank: true }
    }

    /// Adds text; returns the complete rows.
    pub(super) fn push(&mut self, text: &str, columns: usize) -> Vec<StyledRow> {
        let mut rows = Vec::new();
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                rows.extend(self.complete(&line, columns));
            } else if self.line.len() > MAX_HELD_BYTES {
                rows.extend(self.show_partial_line(columns));
            }
        }
        rows
    }

    /// Rows of the incomplete line.
    pub(super) fn tail(&self, columns: usize) -> Vec<StyledRow> {
        if self.line.trim().is_empty() || self.fence_mark(&self.line).is_some() {
            return Vec::new();
        }
        self.rows(&self.line, columns)
    }

    /// Ends the text; returns the remaining rows.
    pub(super) fn finish(&mut self, columns: usize) -> Vec<StyledRow> {
        let line = std::mem::take(&mut self.line);
        let rows = if line.is_empty() { Vec::new() } else { self.complete(&line, columns) };
        (self.fence, self.continuation) = (None, None);
        rows
    }

    fn complete(&mut self, line: &str, columns: usize) -> Vec<StyledRow> {
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(mark) = self.fence_mark(line) {
            self.fence = match self.fence {
                Some(_) => None,
                None => Some(mark),
            };
            return Vec::new();
        }
        if self.fence.is_none() && line.trim().is_empty() && self.continuation.is_none() {
            let again = std::mem::replace(&mut self.blank, true);
            return if again { Vec::new() } else { vec![StyledRow::new()] };
        }
        self.blank = false;
        let rows = self.rows(line, columns);
        self.continuation = None;
        rows
    }

    /// Returns the rows of a long line without its last word.
    fn show_partial_line(&mut self, columns: usize) -> Vec<StyledRow> {
        let cut_at = self.line.rfind(' ').map_or(self.line.len(), |at| at + 1);
        let rest = self.line.split_off(cut_at);
        let line = std::mem::replace(&mut self.line, rest);
        let rows = self.rows(line.trim_end(), columns);
        let rest = self.lead(&line).map_or_else(StyledRow::new, |(lead, _)| lead.rest);
        self.continuation = Some(LinePrefix { first: rest.clone(), rest });
        self.blank = false;
        rows
    }

    fn rows(&self, line: &str, columns: usize) -> Vec<StyledRow> {
        if self.fence.is_some() {
            return hard_wrap(
                &[StyledSpan::new(TextRole::Code, line)],
                columns,
                &LinePrefix::repeated(StyledSpan::plain(INDENT)),
            );
        }
        if let Some(lead) = &self.continuation {
            return wrap(&inline::spans(line, self.style), columns, lead);
        }
        if line.trim_start().starts_with('|') {
            return hard_wrap(&[StyledSpan::plain(line)], columns, &LinePrefix::default());
        }
        if is_rule(line) {
            return vec![vec![StyledSpan::new(TextRole::Dim, &"─".repeat(columns.min(40)))]];
        }
        if is_heading(line) {
            return wrap(&[StyledSpan::new(TextRole::Heading, line.trim())], columns, &LinePrefix::default());
        }
        match self.lead(line) {
            Some((lead, text)) => wrap(&inline::spans(text, self.style), columns, &lead),
            None => wrap(&inline::spans(line.trim_start(), self.style), columns, &LinePrefix::default()),
        }
    }

    /// Splits the prefix of a list item or a quote from its text.
    fn lead<'a>(&self, line: &'a str) -> Option<(LinePrefix, &'a str)> {
        if self.fence.is_some() {
            return Some((LinePrefix::repeated(StyledSpan::plain(INDENT)), line));
        }
        let text = line.trim_start();
        let indent = " ".repeat((line.len() - text.len()).min(12));
        if let Some(quote) = text.strip_prefix('>') {
            return Some((
                LinePrefix::repeated(StyledSpan::new(TextRole::Dim, &format!("{indent}│ "))),
                quote.trim_start(),
            ));
        }
        if let Some(item) = ["- ", "* ", "+ "].into_iter().find_map(|mark| text.strip_prefix(mark)) {
            return Some((LinePrefix::hanging(StyledSpan::plain(&format!("{indent}• "))), item.trim_start()));
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at(digits);
        let item = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
        let is_number = (1..=4).contains(&digits);
        is_number.then(|| (LinePrefix::hanging(StyledSpan::plain(&format!("{indent}{number}. "))), item.trim_start()))
    }

    /// The mark of a fence, if the line opens a fence or closes the open one.
    fn fence_mark(&self, line: &str) -> Option<String> {
        let text = line.trim();
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = text.chars().take_while(|c| *c == mark).count();
        let (marks, about) = text.split_at(length);
        let counts = match &self.fence {
            None => length >= 3 && !about.contains('`'),
            Some(open) => about.is_empty() && marks.starts_with(open.as_str()),
        };
        counts.then(|| marks.to_owned())
    }
}

fn is_heading(line: &str) -> bool {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&marks) && line[marks..].starts_with(' ')
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && ["-", "*", "_"].into_iter().any(|mark| line.replace(mark, "").is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::text::{paint, row_width};

    const PAGE: &str = "# Title\n\n\nSome **words** that go on for a while.\n\n- one\n- two and a half, which is long\n  \
                        1. deep\n\n```rust\nfn main() {\n\tlet x = 1;\n}\n```\n> quoted\n\n---\n| a | b |\ndone";

    fn rows(text: &str, pieces: usize, columns: usize) -> Vec<String> {
        let mut markdown = MarkdownStream::new(Style::Plain);
        let chars: Vec<char> = text.chars().collect();
        let mut rows = Vec::new();
        for piece in chars.chunks(pieces) {
            rows.extend(markdown.push(&piece.iter().collect::<String>(), columns));
        }
        rows.extend(markdown.finish(columns));
        rows.iter().map(|row| paint(row, Style::Plain)).collect()
    }

    #[test]
    fn a_page_reads_well_without_colour() {
        let expected = [
            "# Title",
            "",
            "Some words that go on",
            "for a while.",
            "",
            "• one",
            "• two and a half, which",
            "  is long",
            "  1. deep",
            "",
            "    fn main() {",
            "        let x = 1;",
            "    }",
            "│ quoted",
            "",
            "────────────────────────",
            "| a | b |",
            "done",
        ];
        assert_eq!(rows(PAGE, PAGE.len(), 24), expected);
    }

    #[test]
    fn pieces_make_no_difference() {
        let whole = rows(PAGE, PAGE.len(), 30);
        for pieces in 1..40 {
            assert_eq!(rows(PAGE, pieces, 30), whole);
        }
    }

    #[test]
    fn a_line_without_end_is_shown_as_it_comes() {
        let mut markdown = MarkdownStream::new(Style::Plain);
        let shown: usize = (0..20_000).map(|_| markdown.push("word and ", 40).len()).sum();
        assert!(shown > 4_000 && markdown.line.len() <= MAX_HELD_BYTES + 16, "{shown}");
        assert!(markdown.tail(40).iter().all(|row| row_width(row) <= 40));
    }

    #[test]
    fn what_grows_is_shown_unless_it_is_a_mark() {
        let mut markdown = MarkdownStream::new(Style::Plain);
        assert!(markdown.push("Hello **wor", 40).is_empty());
        assert_eq!(paint(&markdown.tail(40)[0], Style::Plain), "Hello **wor");
        assert_eq!(markdown.push("ld**\n```", 40).len(), 1);
        assert!(markdown.tail(40).is_empty());
    }
}
