//! Words: quotes are removed exactly, and what only the shell knows stays unknown.

use super::ansi;
use super::parser::{ParseResult, ShellParser, is_break};
use super::raw_command::RawWord;
use super::word_builder::WordBuilder;

impl ShellParser<'_> {
    /// Reads a word, which braces may make several; nothing where none begins here.
    pub(super) fn word(&mut self) -> ParseResult<Option<Vec<RawWord>>> {
        let from = self.at;
        let mut growing = WordBuilder::default();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.is_process() => {
                    self.process()?;
                    growing.process();
                }
                c if is_break(c) => break,
                '\'' => growing.quote(self.single_quoted()?),
                '"' => self.double_quoted(&mut growing)?,
                '\\' => growing.quote(&self.escaped()?),
                '`' => {
                    self.backquoted(|_| false)?;
                    growing.expand();
                    growing.splits = true;
                }
                '$' => self.unquoted_dollar(&mut growing)?,
                c => {
                    self.bump();
                    growing.unquoted(c);
                }
            }
        }
        let written = self.since(from);
        if written.contains('\n') && !self.pending.is_empty() {
            return self.stop("a here-document begins while a word goes on");
        }
        Ok((self.at > from).then(|| growing.finish(written)))
    }

    pub(super) fn is_process(&self) -> bool {
        self.sees("<(") || self.sees(">(")
    }

    pub(super) fn process(&mut self) -> ParseResult {
        self.at += 2;
        self.substitution(ShellParser::until_parenthesis)
    }

    pub(super) fn single_quoted(&mut self) -> ParseResult<&str> {
        self.at += 1;
        let text = self.take_while(|c| c != '\'');
        if !self.take("'") {
            return self.stop("a quote is not closed");
        }
        Ok(text)
    }

    fn escaped(&mut self) -> ParseResult<String> {
        self.at += 1;
        match self.peek() {
            None => self.stop("it ends in a backslash"),
            Some('\n') => self.stop("a line is continued in the middle of a word"),
            Some(c) => {
                self.bump();
                Ok(c.to_string())
            }
        }
    }

    fn double_quoted(&mut self, growing: &mut WordBuilder) -> ParseResult {
        self.at += 1;
        growing.quoted = true;
        loop {
            match self.peek() {
                None => return self.stop("a quote is not closed"),
                Some('"') => {
                    self.bump();
                    return Ok(());
                }
                Some('\\') => self.escaped_in_quotes(growing),
                Some('`') => {
                    self.backquoted(|c| c == '"')?;
                    growing.expand();
                }
                Some('$') => self.quoted_dollar(growing)?,
                Some(c) => {
                    self.bump();
                    growing.quote(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    fn quoted_dollar(&mut self, growing: &mut WordBuilder) -> ParseResult {
        let from = self.at;
        match self.dollar()? {
            Some(literal) => growing.quote(literal),
            None => {
                // `"$@"` becomes as many words as there are arguments.
                growing.splits |= self.since(from).contains('@');
                growing.expand();
            }
        }
        Ok(())
    }

    /// Between double quotes a backslash stands for itself, except before these.
    fn escaped_in_quotes(&mut self, growing: &mut WordBuilder) {
        self.bump();
        match self.peek() {
            Some('\n') => {
                self.bump();
            }
            Some(c @ ('$' | '`' | '"' | '\\')) => {
                self.bump();
                growing.quote(c.encode_utf8(&mut [0; 4]));
            }
            _ => growing.quote("\\"),
        }
    }

    fn unquoted_dollar(&mut self, growing: &mut WordBuilder) -> ParseResult {
        if self.sees("$'") {
            let text = self.ansi_quoted()?;
            growing.quote(&text);
        } else if self.take("$") && self.sees("\"") {
            // A catalogue of translations may put anything in its place.
            growing.expand();
            self.double_quoted(growing)?;
        } else {
            self.at -= 1;
            match self.dollar()? {
                Some(literal) => growing.quote(literal),
                None => {
                    growing.expand();
                    growing.splits = true;
                }
            }
        }
        Ok(())
    }

    fn ansi_quoted(&mut self) -> ParseResult<String> {
        self.at += 2;
        let from = self.at;
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
        let text = self.text.get(from..self.at - 1).unwrap_or_default();
        ansi::decode(text).map_or_else(|| self.stop("an escape stands for bytes that are no plain text"), Ok)
    }
}
