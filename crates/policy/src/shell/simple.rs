//! Simple commands.

use super::raw::{Raw, Spelled};
use super::reader::{Reader, Step};
use super::redirect::Redirected;
use super::{Word, variables};

/// What stood where a simple command may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Words and assignments.
    Words,
    /// Redirections too.
    Redirected,
    /// A function.
    Function,
}

impl Reader<'_> {
    /// Reads a simple command, or the function that its first word names.
    pub(super) fn simple(&mut self) -> Step {
        let from = self.at;
        let mut raw = Raw { when: std::mem::take(&mut self.when), ..Raw::default() };
        let read = self.parts(&mut raw);
        let parts = match read {
            Ok(Parts::Function) => return Ok(()),
            Ok(parts) => parts,
            // What is known of a command is worth knowing, even where reading ends in the middle of it.
            Err(stop) => {
                self.found.commands.extend((!raw.words.is_empty()).then_some(raw));
                return Err(stop);
            }
        };
        if !raw.words.is_empty() {
            self.found.commands.push(raw);
        } else if raw.sets.is_empty() && parts == Parts::Words {
            return self.stop("a command is missing");
        } else if raw.sets.iter().any(|(name, value)| !variables::is_private_set(name, value)) {
            self.doubt(from, "it sets a variable that other programs may listen to");
        }
        if self.sees("(") { self.stop("a parenthesis stands where none may stand") } else { Ok(()) }
    }

    fn parts(&mut self, raw: &mut Raw) -> Step<Parts> {
        let mut parts = Parts::Words;
        loop {
            self.blanks()?;
            let redirected = self.redirect()?;
            if redirected != Redirected::No {
                raw.fed |= redirected == Redirected::Fed;
                parts = Parts::Redirected;
                continue;
            }
            if raw.words.is_empty() && self.assignment(&mut raw.sets)? {
                continue;
            }
            let start = self.at;
            let Some(words) = self.word()? else { return Ok(parts) };
            let first = raw.words.is_empty();
            if first {
                self.found.starts.insert(start);
            }
            raw.words.extend(words);
            if first && raw.sets.is_empty() && parts == Parts::Words && self.is_function()? {
                let name = std::mem::take(&mut raw.words);
                let name = name.first().filter(|word| word.plain).and_then(Spelled::text);
                return self.function(name.unwrap_or_default()).map(|()| Parts::Function);
            }
        }
    }

    /// Takes `()` after a name.
    fn is_function(&mut self) -> Step<bool> {
        let before = self.at;
        self.blanks()?;
        if !self.take("(") {
            self.at = before;
            return Ok(false);
        }
        self.blanks()?;
        if !self.take(")") {
            return self.stop("a parenthesis stands where none may stand");
        }
        Ok(true)
    }

    /// Reads an assignment, if one begins here.
    fn assignment(&mut self, sets: &mut Vec<(String, Word)>) -> Step<bool> {
        let from = self.at;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if variables::is_name(name) && self.sees("[") {
            return self.stop("an index may evaluate what is only known when it runs");
        }
        let assigns = variables::is_name(name) && (self.take("=") || self.take("+="));
        if !assigns {
            self.at = from;
            return Ok(false);
        }
        let value = if self.take("(") { self.array()? } else { self.value()? };
        sets.push((name.to_owned(), value));
        Ok(true)
    }

    fn value(&mut self) -> Step<Word> {
        let from = self.at;
        let words = self.word()?;
        let written = || Word::Unknown(self.since(from).to_owned());
        Ok(match words.as_deref() {
            None => Word::Known(String::new()),
            Some([Spelled { word: word @ Word::Known(_), .. }]) => word.clone(),
            Some(_) => written(),
        })
    }

    fn array(&mut self) -> Step<Word> {
        let from = self.at;
        if !self.pending.is_empty() {
            return self.stop("a here-document begins while a list goes on");
        }
        loop {
            self.gap()?;
            if self.take(")") {
                return Ok(Word::Unknown(self.since(from).to_owned()));
            }
            let start = self.at;
            if self.word()?.is_none() || self.since(start).contains('[') {
                return self.stop("this list is not one that is read");
            }
        }
    }
}
