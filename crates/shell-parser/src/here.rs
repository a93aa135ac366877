//! Here-documents.

use super::parser::{ParseResult, ShellParser, ends_word};

/// A here-document whose body is still to come.
#[derive(Debug, Clone)]
pub(super) struct HereDocument {
    delimiter: String,
    /// Whether the body is literal.
    literal: bool,
    /// Whether leading tabs of its lines are ignored.
    strips_tabs: bool,
}

impl ShellParser<'_> {
    /// Reads the delimiter after `<<` or `<<-`.
    pub(super) fn here_delimiter(&mut self, tabs: bool) -> ParseResult {
        self.skip_blanks()?;
        let raw = self.peek_token();
        let plain =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.!".contains(c));
        let unquoted = ['\'', '"'].iter().find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote));
        let (delimiter, literal) = match unquoted.or_else(|| raw.strip_prefix('\\')) {
            Some(inside) => (inside, true),
            None => (raw, false),
        };
        if !plain(delimiter) {
            return self.stop("the end of a here-document is not a plain word");
        }
        self.position += raw.len();
        self.pending.push(HereDocument { delimiter: delimiter.to_owned(), literal, strips_tabs: tabs });
        Ok(())
    }

    /// Reads the bodies of the here-documents that began on the line that just ended.
    pub(super) fn here_documents(&mut self) -> ParseResult {
        for document in std::mem::take(&mut self.pending) {
            let from = self.position;
            let to = self.skip_here_body(&document)?;
            if !document.literal {
                self.parse_range(from, to, ShellParser::here_body)?;
            }
        }
        Ok(())
    }

    /// Moves past a body and its delimiter, and returns where the body ends.
    fn skip_here_body(&mut self, document: &HereDocument) -> ParseResult<usize> {
        loop {
            let (from, line) = (self.position, self.take_while(|c| c != '\n'));
            let line = if document.strips_tabs { line.trim_start_matches('\t') } else { line };
            if line == document.delimiter {
                return Ok(from);
            }
            if !document.literal && line.ends_with('\\') {
                return self.stop("a line of a here-document is continued");
            }
            // Inside a substitution, some shells end the document here and some do not.
            if line.starts_with(&document.delimiter) && line[document.delimiter.len()..].starts_with(ends_word) {
                return self.stop("a line of a here-document looks like its end");
            }
            if !self.take("\n") {
                return self.stop("a here-document has no end");
            }
        }
    }

    fn here_body(&mut self) -> ParseResult {
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    self.bump();
                    self.bump();
                }
                '`' => self.backquoted(|c| c == '"')?,
                '$' => {
                    self.dollar()?;
                }
                _ => {
                    self.bump();
                }
            }
        }
        Ok(())
    }
}
