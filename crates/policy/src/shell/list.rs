//! Lists and pipelines.

use super::CommandTiming;
use super::parser::{ParseResult, ShellParser};

/// What ends a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListTerminator {
    /// The end of the text.
    End,
    /// A closing parenthesis.
    Parenthesis,
    /// One of these shell keywords.
    Words(&'static [&'static str]),
    /// The end of an item of `case`.
    Item,
}

impl ShellParser<'_> {
    /// Reads everything to the end.
    pub(super) fn until_end(&mut self) -> ParseResult {
        self.list(ListTerminator::End)
    }

    /// Reads the commands up to a closing parenthesis, and the parenthesis.
    pub(super) fn until_parenthesis(&mut self) -> ParseResult {
        self.list(ListTerminator::Parenthesis)?;
        self.at += 1;
        Ok(())
    }

    /// Reads commands up to a terminator.
    pub(super) fn list(&mut self, until: ListTerminator) -> ParseResult {
        let mut empty = true;
        loop {
            self.gap()?;
            if self.is_closed(until) {
                return if empty { self.nothing(until) } else { Ok(()) };
            }
            empty = false;
            let before = self.found.commands.len();
            self.and_or()?;
            self.blanks()?;
            if self.is_closed(until) {
                return Ok(());
            }
            if self.sees("&") {
                self.elsewhere(before);
            }
            if self.sees(";;") || self.sees(";&") {
                return self.stop("a command ends in an unexpected place");
            }
            if !self.sees("\n") && !self.take(";") && !self.take("&") {
                return self.stop("a command does not end where expected");
            }
        }
    }

    /// Only a whole text and an item of `case` may be empty.
    fn nothing(&self, until: ListTerminator) -> ParseResult {
        match until {
            ListTerminator::End | ListTerminator::Item => Ok(()),
            ListTerminator::Parenthesis | ListTerminator::Words(_) => self.stop("a command is missing"),
        }
    }

    fn is_closed(&self, until: ListTerminator) -> bool {
        match until {
            ListTerminator::End => self.rest().is_empty(),
            ListTerminator::Parenthesis => self.sees(")"),
            ListTerminator::Words(words) => words.contains(&self.peek_token()),
            ListTerminator::Item => self.sees(";;") || self.sees(";&") || self.peek_token() == "esac",
        }
    }

    fn and_or(&mut self) -> ParseResult {
        self.pipeline(CommandTiming::Once)?;
        loop {
            self.blanks()?;
            if !self.take("&&") && !self.take("||") {
                return Ok(());
            }
            self.gap()?;
            self.pipeline(CommandTiming::AtMostOnce)?;
        }
    }

    fn pipeline(&mut self, when: CommandTiming) -> ParseResult {
        self.pipeline_words()?;
        let before = self.found.commands.len();
        // A nested command may run several times, or in a process of its own.
        self.timing = if self.depth == 0 { when } else { CommandTiming::Unordered };
        self.deeper(ShellParser::command)?;
        loop {
            self.blanks()?;
            if self.sees("||") || !self.take("|") {
                return Ok(());
            }
            self.elsewhere(before);
            self.timing = CommandTiming::Unordered;
            self.take("&");
            self.gap()?;
            self.deeper(ShellParser::command)?;
        }
    }

    /// Marks the commands from this one on as running in processes of their own.
    fn elsewhere(&mut self, from: usize) {
        for command in self.found.commands.iter_mut().skip(from) {
            command.timing = CommandTiming::Unordered;
        }
    }

    /// Takes `!` and `time`.
    fn pipeline_words(&mut self) -> ParseResult {
        loop {
            self.blanks()?;
            match self.peek_token() {
                "!" => self.at += 1,
                "time" => {
                    self.found.starts.insert(self.at);
                    self.at += 4;
                    self.blanks()?;
                    if self.peek_token() == "-p" {
                        self.at += 2;
                    } else if self.sees("-") || self.sees("(") {
                        // Inside a substitution some versions of bash refuse a parenthesis here.
                        return self.stop("this use of the shell's `time` is not supported");
                    }
                }
                _ => return Ok(()),
            }
        }
    }
}
