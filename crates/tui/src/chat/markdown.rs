//! Streaming Markdown: rows of complete lines, and of the incomplete last line.

use super::inline_row;
use super::text::{LinePrefix, StyledRow, StyledSpan, hard_wrap, wrap};
use crate::style::{Style, TextRole};

/// A line longer than this is shown before it is complete.
const MAX_INCOMPLETE_BYTES: usize = 4096;

/// Indent of code.
const CODE_INDENT: &str = "    ";

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
    last_row_is_blank: bool,
}

impl MarkdownStream {
    pub(super) fn new(style: Style) -> MarkdownStream {
        MarkdownStream { style, line: String::new(), fence: None, continuation: None, last_row_is_blank: true }
    }

    /// Adds text; returns the complete rows.
    pub(super) fn push(&mut self, text: &str, columns: usize) -> Vec<StyledRow> {
        let mut line_rows = Vec::new();
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                line_rows.extend(self.complete_line_rows(&line, columns));
            } else if self.line.len() > MAX_INCOMPLETE_BYTES {
                line_rows.extend(self.show_partial_line(columns));
            }
        }
        line_rows
    }

    /// Rows of the incomplete line.
    pub(super) fn incomplete_rows(&self, columns: usize) -> Vec<StyledRow> {
        if self.line.trim().is_empty() || self.fence_mark(&self.line).is_some() {
            return Vec::new();
        }
        self.rows(&self.line, columns)
    }

    /// Ends the text; returns the remaining rows.
    pub(super) fn finish(&mut self, columns: usize) -> Vec<StyledRow> {
        let line = std::mem::take(&mut self.line);
        let rows = if line.is_empty() { Vec::new() } else { self.complete_line_rows(&line, columns) };
        (self.fence, self.continuation) = (None, None);
        rows
    }

    fn complete_line_rows(&mut self, line: &str, columns: usize) -> Vec<StyledRow> {
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(mark) = self.fence_mark(line) {
            self.fence = match self.fence {
                Some(_) => None,
                None => Some(mark),
            };
            return Vec::new();
        }
        if self.fence.is_none() && line.trim().is_empty() && self.continuation.is_none() {
            let was_blank = std::mem::replace(&mut self.last_row_is_blank, true);
            return if was_blank { Vec::new() } else { vec![StyledRow::new()] };
        }
        self.last_row_is_blank = false;
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
        let rest = self.split_prefix(&line).map_or_else(StyledRow::new, |(lead, _)| lead.rest);
        self.continuation = Some(LinePrefix { first: rest.clone(), rest });
        self.last_row_is_blank = false;
        rows
    }

    fn rows(&self, line: &str, columns: usize) -> Vec<StyledRow> {
        if self.fence.is_some() {
            return hard_wrap(
                &[StyledSpan::new(TextRole::Code, line)],
                columns,
                &LinePrefix::repeated(StyledSpan::plain(CODE_INDENT)),
            );
        }
        if let Some(lead) = &self.continuation {
            return wrap(&inline_row::spans(line, self.style), columns, lead);
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
        match self.split_prefix(line) {
            Some((lead, text)) => wrap(&inline_row::spans(text, self.style), columns, &lead),
            None => wrap(&inline_row::spans(line.trim_start(), self.style), columns, &LinePrefix::default()),
        }
    }

    /// Splits the prefix of a list item or a quote from its text.
    fn split_prefix<'a>(&self, line: &'a str) -> Option<(LinePrefix, &'a str)> {
        if self.fence.is_some() {
            return Some((LinePrefix::repeated(StyledSpan::plain(CODE_INDENT)), line));
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
        let (marks, info) = text.split_at(length);
        let is_fence = match &self.fence {
            None => length >= 3 && !info.contains('`'),
            Some(open) => info.is_empty() && marks.starts_with(open.as_str()),
        };
        is_fence.then(|| marks.to_owned())
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

    fn rows(text: &str, chunk_len: usize, columns: usize) -> Vec<String> {
        let mut markdown = MarkdownStream::new(Style::Plain);
        let chars: Vec<char> = text.chars().collect();
        let mut rows = Vec::new();
        for piece in chars.chunks(chunk_len) {
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
    fn chunking_makes_no_difference() {
        let whole = rows(PAGE, PAGE.len(), 30);
        for chunk_len in 1..40 {
            assert_eq!(rows(PAGE, chunk_len, 30), whole);
        }
    }

    #[test]
    fn endless_line_is_shown_in_parts() {
        let mut markdown = MarkdownStream::new(Style::Plain);
        let shown: usize = (0..20_000).map(|_| markdown.push("word and ", 40).len()).sum();
        assert!(shown > 4_000 && markdown.line.len() <= MAX_INCOMPLETE_BYTES + 16, "{shown}");
        assert!(markdown.incomplete_rows(40).iter().all(|row| row_width(row) <= 40));
    }

    #[test]
    fn tail_shows_an_incomplete_line_but_no_fence() {
        let mut markdown = MarkdownStream::new(Style::Plain);
        assert!(markdown.push("Hello **wor", 40).is_empty());
        assert_eq!(paint(&markdown.incomplete_rows(40)[0], Style::Plain), "Hello **wor");
        assert_eq!(markdown.push("ld**\n```", 40).len(), 1);
        assert!(markdown.incomplete_rows(40).is_empty());
    }
}
