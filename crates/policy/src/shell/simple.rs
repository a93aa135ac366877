//! Simple commands.

use super::raw::{Raw, Spelled};
use super::reader::{Reader, Step};
use super::redirect::Redirected;
use super::{Word, variables};

impl Reader<'_> {
    /// Reads a simple command, or the function that its first word names.
    pub(super) fn simple(&mut self) -> Step {
        let from = self.at;
        let mut raw = Raw::default();
        let mut redirected = false;
        loop {
            self.blanks()?;
            match self.redirect()? {
                Redirected::No => {}
                Redirected::File => {
                    redirected = true;
                    continue;
                }
                Redirected::Fed => {
                    redirected = true;
                    raw.fed = true;
                    continue;
                }
            }
            if raw.words.is_empty() && self.assignment(&mut raw.sets)? {
                continue;
            }
            let start = self.at;
            let Some(words) = self.word()? else { break };
            if raw.words.is_empty() {
                self.found.starts.insert(start);
            }
            let first = raw.words.is_empty() && raw.sets.is_empty() && !redirected;
            raw.words.extend(words);
            if first && self.is_function()? {
                let name = raw.words.first().filter(|word| word.plain).and_then(Spelled::text).unwrap_or_default();
                return self.function(&name.to_owned());
            }
        }
        self.finish(raw, from, redirected)
    }

    fn finish(&mut self, raw: Raw, from: usize, redirected: bool) -> Step {
        if self.sees("(") {
            return self.stop("a parenthesis stands where none may stand");
        }
        if !raw.words.is_empty() {
            self.found.commands.push(raw);
            return Ok(());
        }
        if raw.sets.is_empty() && !redirected {
            return self.stop("a command is missing");
        }
        if raw.sets.iter().any(|(name, _)| !variables::is_private(name)) {
            self.doubt(from, "it sets a variable that other programs may listen to");
        }
        Ok(())
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
        loop {
            self.gap()?;
            if self.take(")") {
                return Ok(Word::Unknown(self.since(from).to_owned()));
            }
            if self.sees("[") || self.word()?.is_none() {
                return self.stop("this list is not one that is read");
            }
        }
    }
}
