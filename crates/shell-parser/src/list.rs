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
        self.position += 1;
        Ok(())
    }

    /// Reads commands up to a terminator.
    pub(super) fn list(&mut self, terminator: ListTerminator) -> ParseResult {
        let mut empty = true;
        loop {
            self.skip_newlines()?;
            if self.is_at_terminator(terminator) {
                return if empty { self.check_empty_list(terminator) } else { Ok(()) };
            }
            empty = false;
            let before = self.script.commands.len();
            self.and_or()?;
            self.skip_blanks()?;
            if self.is_at_terminator(terminator) {
                return Ok(());
            }
            if self.is_next("&") {
                self.mark_unordered(before);
            }
            if self.is_next(";;") || self.is_next(";&") {
                return self.stop("a command ends in an unexpected place");
            }
            if !self.is_next("\n") && !self.take(";") && !self.take("&") {
                return self.stop("a command does not end where expected");
            }
        }
    }

    /// Refuses an empty list, except for a whole text or an item of `case`.
    fn check_empty_list(&self, terminator: ListTerminator) -> ParseResult {
        match terminator {
            ListTerminator::End | ListTerminator::Item => Ok(()),
            ListTerminator::Parenthesis | ListTerminator::Words(_) => self.stop("a command is missing"),
        }
    }

    fn is_at_terminator(&self, terminator: ListTerminator) -> bool {
        match terminator {
            ListTerminator::End => self.rest().is_empty(),
            ListTerminator::Parenthesis => self.is_next(")"),
            ListTerminator::Words(words) => words.contains(&self.peek_token()),
            ListTerminator::Item => self.is_next(";;") || self.is_next(";&") || self.peek_token() == "esac",
        }
    }

    fn and_or(&mut self) -> ParseResult {
        self.pipeline(CommandTiming::Once)?;
        loop {
            self.skip_blanks()?;
            if !self.take("&&") && !self.take("||") {
                return Ok(());
            }
            self.skip_newlines()?;
            self.pipeline(CommandTiming::AtMostOnce)?;
        }
    }

    fn pipeline(&mut self, timing: CommandTiming) -> ParseResult {
        self.skip_pipeline_keywords()?;
        let before = self.script.commands.len();
        // A nested command may run several times, or in a process of its own.
        self.timing = if self.depth == 0 { timing } else { CommandTiming::Unordered };
        self.nested(ShellParser::command)?;
        loop {
            self.skip_blanks()?;
            if self.is_next("||") || !self.take("|") {
                return Ok(());
            }
            self.mark_unordered(before);
            self.timing = CommandTiming::Unordered;
            self.take("&");
            self.skip_newlines()?;
            self.nested(ShellParser::command)?;
        }
    }

    /// Marks all commands from this one on as running in other processes.
    fn mark_unordered(&mut self, from: usize) {
        for command in self.script.commands.iter_mut().skip(from) {
            command.timing = CommandTiming::Unordered;
        }
    }

    /// Skips `!` and `time`.
    fn skip_pipeline_keywords(&mut self) -> ParseResult {
        loop {
            self.skip_blanks()?;
            match self.peek_token() {
                "!" => self.position += 1,
                "time" => {
                    self.script.starts.insert(self.position);
                    self.position += 4;
                    self.skip_blanks()?;
                    if self.peek_token() == "-p" {
                        self.position += 2;
                    } else if self.is_next("-") || self.is_next("(") {
                        // Inside a substitution some versions of bash refuse a parenthesis here.
                        return self.stop("this use of the shell's `time` is not supported");
                    }
                }
                _ => return Ok(()),
            }
        }
    }
}
