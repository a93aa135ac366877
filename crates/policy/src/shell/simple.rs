//! Simple commands.

use super::parser::{ParseResult, ShellParser};
use super::raw_command::{RawCommand, RawWord};
use super::redirect::RedirectOutcome;
use super::{ShellWord, variables};

/// What was read in the place of a simple command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimpleCommandParts {
    /// Words and assignments.
    Words,
    /// Redirections too.
    Redirected,
    /// A function.
    Function,
}

impl ShellParser<'_> {
    /// Reads a simple command, or the function that its first word names.
    pub(super) fn simple(&mut self) -> ParseResult {
        let from = self.at;
        let mut raw = RawCommand { timing: std::mem::take(&mut self.timing), ..RawCommand::default() };
        let read = self.parts(&mut raw);
        let parts = match read {
            Ok(SimpleCommandParts::Function) => return Ok(()),
            Ok(parts) => parts,
            // Keep what is known about a command, even if parsing stops in the middle of it.
            Err(stop) => {
                self.found.commands.extend((!raw.words.is_empty()).then_some(raw));
                return Err(stop);
            }
        };
        if !raw.words.is_empty() {
            self.found.commands.push(raw);
        } else if raw.assignments.is_empty() && parts == SimpleCommandParts::Words {
            return self.stop("a command is missing");
        } else if raw.assignments.iter().any(|(name, value)| !variables::is_private_set(name, value)) {
            self.mark_unclear(from, "it sets a variable that other programs may read");
        }
        if self.sees("(") { self.stop("a parenthesis in an unexpected place") } else { Ok(()) }
    }

    fn parts(&mut self, raw: &mut RawCommand) -> ParseResult<SimpleCommandParts> {
        let mut parts = SimpleCommandParts::Words;
        loop {
            self.blanks()?;
            let redirected = self.redirect()?;
            if redirected != RedirectOutcome::No {
                raw.has_inline_input |= redirected == RedirectOutcome::InlineInput;
                parts = SimpleCommandParts::Redirected;
                continue;
            }
            if raw.words.is_empty() && self.assignment(&mut raw.assignments)? {
                continue;
            }
            let start = self.at;
            let Some(words) = self.word()? else { return Ok(parts) };
            let first = raw.words.is_empty();
            if first {
                self.found.starts.insert(start);
            }
            raw.words.extend(words);
            if first && raw.assignments.is_empty() && parts == SimpleCommandParts::Words && self.is_function()? {
                let name = std::mem::take(&mut raw.words);
                let name = name.first().filter(|word| word.plain).and_then(RawWord::text);
                return self.function(name.unwrap_or_default()).map(|()| SimpleCommandParts::Function);
            }
        }
    }

    /// Takes `()` after a name.
    fn is_function(&mut self) -> ParseResult<bool> {
        let before = self.at;
        self.blanks()?;
        if !self.take("(") {
            self.at = before;
            return Ok(false);
        }
        self.blanks()?;
        if !self.take(")") {
            return self.stop("a parenthesis in an unexpected place");
        }
        Ok(true)
    }

    /// Reads an assignment, if one begins here.
    fn assignment(&mut self, assignments: &mut Vec<(String, ShellWord)>) -> ParseResult<bool> {
        let from = self.at;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if variables::is_name(name) && self.sees("[") {
            return self.stop("an index may evaluate text that is only known when it runs");
        }
        let assigns = variables::is_name(name) && (self.take("=") || self.take("+="));
        if !assigns {
            self.at = from;
            return Ok(false);
        }
        let value = if self.take("(") { self.array()? } else { self.value()? };
        assignments.push((name.to_owned(), value));
        Ok(true)
    }

    fn value(&mut self) -> ParseResult<ShellWord> {
        let from = self.at;
        let words = self.word()?;
        let written = || ShellWord::Unknown(self.since(from).to_owned());
        Ok(match words.as_deref() {
            None => ShellWord::Known(String::new()),
            Some([RawWord { word: word @ ShellWord::Known(_), .. }]) => word.clone(),
            Some(_) => written(),
        })
    }

    fn array(&mut self) -> ParseResult<ShellWord> {
        let from = self.at;
        if !self.pending.is_empty() {
            return self.stop("a here-document begins inside a list");
        }
        loop {
            self.gap()?;
            if self.take(")") {
                return Ok(ShellWord::Unknown(self.since(from).to_owned()));
            }
            let start = self.at;
            if self.word()?.is_none() || self.since(start).contains('[') {
                return self.stop("this form of list is not supported");
            }
        }
    }
}
