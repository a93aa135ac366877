//! A position in a text, and the basic steps over it.

use super::here::HereDocument;
use super::raw_command::RawScript;
use super::{CommandTiming, UnclearPart};

/// Maximum nesting depth of constructs.
pub(super) const MAX_DEPTH: usize = 16;

/// Reads a text from left to right, strictly: it refuses what it is not sure of.
#[derive(Debug)]
pub(super) struct ShellParser<'a> {
    pub(super) text: &'a str,
    /// The current byte offset in `text`.
    pub(super) position: usize,
    pub(super) depth: usize,
    /// What has been parsed so far.
    pub(super) script: RawScript,
    /// When the next simple command runs.
    pub(super) timing: CommandTiming,
    /// Here-documents whose bodies begin after the next newline.
    pub(super) pending: Vec<HereDocument>,
}

/// Where reading ended early, and why.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParseStop {
    pub(super) position: usize,
    pub(super) why: &'static str,
}

pub(super) type ParseResult<T = ()> = Result<T, ParseStop>;

impl<'a> ShellParser<'a> {
    pub(super) fn new(text: &'a str) -> ShellParser<'a> {
        ShellParser {
            text,
            position: 0,
            depth: 0,
            script: RawScript::default(),
            timing: CommandTiming::Unordered,
            pending: Vec::new(),
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn is_next(&self, what: &str) -> bool {
        self.rest().starts_with(what)
    }

    /// Takes one character.
    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += c.len_utf8();
        Some(c)
    }

    /// Takes exactly this text, if it is next.
    pub(super) fn take(&mut self, what: &str) -> bool {
        let is_next = self.is_next(what);
        if is_next {
            self.position += what.len();
        }
        is_next
    }

    /// Takes characters while they match.
    pub(super) fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        self.position += length;
        rest.get(..length).unwrap_or_default()
    }

    pub(super) fn stop<T>(&self, why: &'static str) -> ParseResult<T> {
        Err(ParseStop { position: self.position, why })
    }

    /// The text from a position to here.
    pub(super) fn since(&self, from: usize) -> &'a str {
        self.text.get(from..self.position).unwrap_or_default()
    }

    /// Records that a part is unclear, and continues.
    pub(super) fn mark_unclear(&mut self, from: usize, why: &str) {
        let part = self.since(from).to_owned();
        self.script.unclear.push(UnclearPart { part, why: why.to_owned() });
    }

    /// Reads a nested construct.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.depth >= MAX_DEPTH {
            return self.stop("it is nested too deeply");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads a part of the text as if it were the whole.
    pub(super) fn parse_range<T>(
        &mut self,
        from: usize,
        to: usize,
        read: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        let (text, after) = (self.text, self.position);
        self.text = text.get(..to).unwrap_or_default();
        self.position = from;
        let result = self.nested(read);
        self.text = text;
        self.position = after;
        result
    }

    /// Reads the commands of a substitution, which has its own here-documents.
    pub(super) fn substitution<T>(&mut self, read: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if !self.pending.is_empty() {
            return self.stop("a here-document and a substitution share a line");
        }
        let result = self.nested(read)?;
        if !self.pending.is_empty() {
            return self.stop("a here-document has no body");
        }
        Ok(result)
    }

    /// Skips blanks, continued lines and a comment. Only called where a token may begin.
    pub(super) fn skip_blanks(&mut self) -> ParseResult {
        loop {
            self.take_while(|c| c == ' ' || c == '\t');
            if self.is_next("\\\n") {
                self.continued_line()?;
            } else if self.is_next("#") {
                self.take_while(|c| c != '\n');
            } else {
                return Ok(());
            }
        }
    }

    /// Skips a line continuation. It joins the text before and after it, so it separates words only after a blank.
    fn continued_line(&mut self) -> ParseResult {
        let before = self.text.get(..self.position).and_then(|text| text.chars().next_back());
        if !matches!(before, None | Some(' ' | '\t' | '\n')) || !self.pending.is_empty() {
            return self.stop("a line is continued in the middle of a word");
        }
        self.position += 2;
        Ok(())
    }

    /// Skips blanks, comments and newlines, with the here-documents after them.
    pub(super) fn skip_newlines(&mut self) -> ParseResult {
        loop {
            self.skip_blanks()?;
            if !self.take("\n") {
                return Ok(());
            }
            self.here_documents()?;
        }
    }

    /// The characters up to the next blank or operator, which is how the shell finds its keywords.
    pub(super) fn peek_token(&self) -> &'a str {
        let rest = self.rest();
        rest.get(..rest.find(ends_word).unwrap_or(rest.len())).unwrap_or_default()
    }

    /// Takes a shell keyword, such as `then`.
    pub(super) fn expect(&mut self, word: &'static str) -> ParseResult {
        if self.peek_token() != word {
            return self.stop("a shell keyword is missing");
        }
        self.position += word.len();
        Ok(())
    }
}

/// Whether a character ends a word.
pub(super) fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}
