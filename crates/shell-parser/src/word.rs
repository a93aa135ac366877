//! Words: quotes are removed exactly, and parts that only the shell knows stay unknown.

use super::ansi;
use super::parser::{ParseResult, ShellParser, ends_word};
use super::raw_command::RawWord;
use super::word_builder::WordBuilder;

impl ShellParser<'_> {
    /// Reads a word, which braces may expand to several; returns `None` if no word begins here.
    pub(super) fn word(&mut self) -> ParseResult<Option<Vec<RawWord>>> {
        let from = self.position;
        let mut builder = WordBuilder::default();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.is_process_substitution() => {
                    self.process_substitution()?;
                    builder.push_process_substitution();
                }
                c if ends_word(c) => break,
                '\'' => builder.push_literal(self.single_quoted()?),
                '"' => self.double_quoted(&mut builder)?,
                '\\' => builder.push_literal(&self.escaped()?),
                '`' => {
                    self.backquoted(|_| false)?;
                    builder.mark_unknown();
                    builder.splits = true;
                }
                '$' => self.unquoted_dollar(&mut builder)?,
                c => {
                    self.bump();
                    builder.push_unquoted(c);
                }
            }
        }
        let written = self.since(from);
        if written.contains('\n') && !self.pending.is_empty() {
            return self.stop("a here-document begins inside a word");
        }
        Ok((self.position > from).then(|| builder.finish(written)))
    }

    pub(super) fn is_process_substitution(&self) -> bool {
        self.is_next("<(") || self.is_next(">(")
    }

    pub(super) fn process_substitution(&mut self) -> ParseResult {
        self.position += 2;
        self.substitution(ShellParser::until_parenthesis)
    }

    pub(super) fn single_quoted(&mut self) -> ParseResult<&str> {
        self.position += 1;
        let text = self.take_while(|c| c != '\'');
        if !self.take("'") {
            return self.stop("a quote is not closed");
        }
        Ok(text)
    }

    fn escaped(&mut self) -> ParseResult<String> {
        self.position += 1;
        match self.peek() {
            None => self.stop("it ends in a backslash"),
            Some('\n') => self.stop("a line is continued in the middle of a word"),
            Some(c) => {
                self.bump();
                Ok(c.to_string())
            }
        }
    }

    fn double_quoted(&mut self, builder: &mut WordBuilder) -> ParseResult {
        self.position += 1;
        builder.quoted = true;
        loop {
            match self.peek() {
                None => return self.stop("a quote is not closed"),
                Some('"') => {
                    self.bump();
                    return Ok(());
                }
                Some('\\') => self.escaped_in_quotes(builder),
                Some('`') => {
                    self.backquoted(|c| c == '"')?;
                    builder.mark_unknown();
                }
                Some('$') => self.quoted_dollar(builder)?,
                Some(c) => {
                    self.bump();
                    builder.push_literal(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    fn quoted_dollar(&mut self, builder: &mut WordBuilder) -> ParseResult {
        let from = self.position;
        match self.dollar()? {
            Some(literal) => builder.push_literal(literal),
            None => {
                // `"$@"` expands to as many words as there are arguments.
                builder.splits |= self.since(from).contains('@');
                builder.mark_unknown();
            }
        }
        Ok(())
    }

    /// Reads a backslash in double quotes. It is literal, except before these characters.
    fn escaped_in_quotes(&mut self, builder: &mut WordBuilder) {
        self.bump();
        match self.peek() {
            Some('\n') => {
                self.bump();
            }
            Some(c @ ('$' | '`' | '"' | '\\')) => {
                self.bump();
                builder.push_literal(c.encode_utf8(&mut [0; 4]));
            }
            _ => builder.push_literal("\\"),
        }
    }

    fn unquoted_dollar(&mut self, builder: &mut WordBuilder) -> ParseResult {
        if self.is_next("$'") {
            let text = self.ansi_quoted()?;
            builder.push_literal(&text);
        } else if self.take("$") && self.is_next("\"") {
            // A translation may replace it with anything.
            builder.mark_unknown();
            self.double_quoted(builder)?;
        } else {
            self.position -= 1;
            match self.dollar()? {
                Some(literal) => builder.push_literal(literal),
                None => {
                    builder.mark_unknown();
                    builder.splits = true;
                }
            }
        }
        Ok(())
    }

    fn ansi_quoted(&mut self) -> ParseResult<String> {
        self.position += 2;
        let from = self.position;
        loop {
            match self.bump() {
                None => return self.stop("a quote is not closed"),
                Some('\\') => {
                    self.bump();
                }
                Some('\'') => break,
                Some(_) => {}
            }
        }
        let text = self.text.get(from..self.position - 1).unwrap_or_default();
        ansi::decode(text).map_or_else(|| self.stop("an escape produces bytes that are not plain text"), Ok)
    }
}
