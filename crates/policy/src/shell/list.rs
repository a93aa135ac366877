//! Lists and pipelines.

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
            self.and_or()?;
            self.blanks()?;
            if self.is_closed(until) {
                return Ok(());
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
        self.pipeline()?;
        loop {
            self.blanks()?;
            if !self.take("&&") && !self.take("||") {
                return Ok(());
            }
            self.gap()?;
            self.pipeline()?;
        }
    }

    fn pipeline(&mut self) -> Step {
        self.pipeline_words()?;
        self.deeper(Reader::command)?;
        loop {
            self.blanks()?;
            if self.sees("||") || !self.take("|") {
                return Ok(());
            }
            self.take("&");
            self.gap()?;
            self.deeper(Reader::command)?;
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
