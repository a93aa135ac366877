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
        let from = self.position;
        let mut raw = RawCommand { timing: std::mem::take(&mut self.timing), ..RawCommand::default() };
        let result = self.simple_parts(&mut raw);
        let parts = match result {
            Ok(SimpleCommandParts::Function) => return Ok(()),
            Ok(parts) => parts,
            // Keep what is known about a command, even if parsing stops in the middle of it.
            Err(stop) => {
                self.script.commands.extend((!raw.words.is_empty()).then_some(raw));
                return Err(stop);
            }
        };
        if !raw.words.is_empty() {
            self.script.commands.push(raw);
        } else if raw.assignments.is_empty() && parts == SimpleCommandParts::Words {
            return self.stop("a command is missing");
        } else if raw.assignments.iter().any(|(name, value)| !variables::is_private_assignment(name, value)) {
            self.mark_unclear(from, "it sets a variable that other programs may read");
        }
        if self.is_next("(") { self.stop("a parenthesis in an unexpected place") } else { Ok(()) }
    }

    fn simple_parts(&mut self, raw: &mut RawCommand) -> ParseResult<SimpleCommandParts> {
        let mut parts = SimpleCommandParts::Words;
        loop {
            self.skip_blanks()?;
            let redirected = self.redirect()?;
            if redirected != RedirectOutcome::No {
                raw.has_inline_input |= redirected == RedirectOutcome::InlineInput;
                parts = SimpleCommandParts::Redirected;
                continue;
            }
            if raw.words.is_empty() && self.assignment(&mut raw.assignments)? {
                continue;
            }
            let start = self.position;
            let Some(words) = self.word()? else { return Ok(parts) };
            let first = raw.words.is_empty();
            if first {
                self.script.starts.insert(start);
            }
            raw.words.extend(words);
            if first
                && raw.assignments.is_empty()
                && parts == SimpleCommandParts::Words
                && self.take_function_parens()?
            {
                let name = std::mem::take(&mut raw.words);
                let name = name.first().filter(|word| word.plain).and_then(RawWord::text);
                return self.function_body(name.unwrap_or_default()).map(|()| SimpleCommandParts::Function);
            }
        }
    }

    /// Takes `()` after a name, if it is next.
    fn take_function_parens(&mut self) -> ParseResult<bool> {
        let before = self.position;
        self.skip_blanks()?;
        if !self.take("(") {
            self.position = before;
            return Ok(false);
        }
        self.skip_blanks()?;
        if !self.take(")") {
            return self.stop("a parenthesis in an unexpected place");
        }
        Ok(true)
    }

    /// Reads an assignment, if one begins here.
    fn assignment(&mut self, assignments: &mut Vec<(String, ShellWord)>) -> ParseResult<bool> {
        let from = self.position;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if variables::is_name(name) && self.is_next("[") {
            return self.stop("an index may evaluate text that is only known when it runs");
        }
        let assigns = variables::is_name(name) && (self.take("=") || self.take("+="));
        if !assigns {
            self.position = from;
            return Ok(false);
        }
        let value = if self.take("(") { self.assigned_array()? } else { self.assigned_word()? };
        assignments.push((name.to_owned(), value));
        Ok(true)
    }

    fn assigned_word(&mut self) -> ParseResult<ShellWord> {
        let from = self.position;
        let words = self.word()?;
        let written = || ShellWord::Unknown(self.since(from).to_owned());
        Ok(match words.as_deref() {
            None => ShellWord::Known(String::new()),
            Some([RawWord { word: word @ ShellWord::Known(_), .. }]) => word.clone(),
            Some(_) => written(),
        })
    }

    fn assigned_array(&mut self) -> ParseResult<ShellWord> {
        let from = self.position;
        if !self.pending.is_empty() {
            return self.stop("a here-document begins inside a list");
        }
        loop {
            self.skip_newlines()?;
            if self.take(")") {
                return Ok(ShellWord::Unknown(self.since(from).to_owned()));
            }
            let start = self.position;
            if self.word()?.is_none() || self.since(start).contains('[') {
                return self.stop("this form of list is not supported");
            }
        }
    }
}
