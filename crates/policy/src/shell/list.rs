//! Lists and pipelines.

use super::When;
use super::reader::{Reader, Step};

/// What ends a list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    /// The end of the text.
    End,
    /// A closing parenthesis.
    Parenthesis,
    /// One of these words of the shell.
    Words(&'static [&'static str]),
    /// The end of an item of `case`.
    Item,
}

impl Reader<'_> {
    /// Reads everything to the end.
    pub(super) fn until_end(&mut self) -> Step {
        self.list(Until::End)
    }

    /// Reads the commands up to a closing parenthesis, and the parenthesis.
    pub(super) fn until_parenthesis(&mut self) -> Step {
        self.list(Until::Parenthesis)?;
        self.at += 1;
        Ok(())
    }

    /// Reads commands up to what ends them.
    pub(super) fn list(&mut self, until: Until) -> Step {
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
                return self.stop("a command ends where none may end");
            }
            if !self.sees("\n") && !self.take(";") && !self.take("&") {
                return self.stop("a command does not end where it should");
            }
        }
    }

    /// Only a whole text and an item of `case` may hold no command.
    fn nothing(&self, until: Until) -> Step {
        match until {
            Until::End | Until::Item => Ok(()),
            Until::Parenthesis | Until::Words(_) => self.stop("a command is missing"),
        }
    }

    fn is_closed(&self, until: Until) -> bool {
        match until {
            Until::End => self.rest().is_empty(),
            Until::Parenthesis => self.sees(")"),
            Until::Words(words) => words.contains(&self.run()),
            Until::Item => self.sees(";;") || self.sees(";&") || self.run() == "esac",
        }
    }

    fn and_or(&mut self) -> Step {
        self.pipeline(When::Always)?;
        loop {
            self.blanks()?;
            if !self.take("&&") && !self.take("||") {
                return Ok(());
            }
            self.gap()?;
            self.pipeline(When::Perhaps)?;
        }
    }

    fn pipeline(&mut self, when: When) -> Step {
        self.pipeline_words()?;
        let before = self.found.commands.len();
        // What stands in something else may run often, or in a process of its own.
        self.when = if self.depth == 0 { when } else { When::Elsewhere };
        self.deeper(Reader::command)?;
        loop {
            self.blanks()?;
            if self.sees("||") || !self.take("|") {
                return Ok(());
            }
            self.elsewhere(before);
            self.when = When::Elsewhere;
            self.take("&");
            self.gap()?;
            self.deeper(Reader::command)?;
        }
    }

    /// The commands from this one on run in processes of their own.
    fn elsewhere(&mut self, from: usize) {
        for command in self.found.commands.iter_mut().skip(from) {
            command.when = When::Elsewhere;
        }
    }

    /// Takes `!` and `time`.
    fn pipeline_words(&mut self) -> Step {
        loop {
            self.blanks()?;
            match self.run() {
                "!" => self.at += 1,
                "time" => {
                    self.found.starts.insert(self.at);
                    self.at += 4;
                    self.blanks()?;
                    if self.run() == "-p" {
                        self.at += 2;
                    } else if self.sees("-") || self.sees("(") {
                        // Inside a substitution some versions of bash refuse a parenthesis here.
                        return self.stop("`time` of the shell is not used like this");
                    }
                }
                _ => return Ok(()),
            }
        }
    }
}
