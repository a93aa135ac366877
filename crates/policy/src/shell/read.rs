//! From a text to what it would do.

use super::raw::Raw;
use super::reader::{DEPTH, Reader};
use super::settle::settle;
use super::{Script, Unclear, When, Word, characters, witness};

/// How much text is read; longer ones are for people to look at.
const LONGEST: usize = 64 * 1024;

/// How many commands are kept.
const MOST: usize = 2048;

/// Reads a command line as bash would.
pub fn read(command: &str) -> Script {
    let mut reading = Reading::default();
    reading.text(command, &Raw::default());
    reading.finish()
}

/// A script as it grows.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) script: Script,
    /// How many wrappers stand around what is read.
    pub(super) depth: usize,
}

impl Reading {
    /// Reads a text that a shell reads. What is around it holds for every command in it.
    pub(super) fn text(&mut self, text: &str, around: &Raw) {
        if text.len() > LONGEST {
            return self.doubt(&clipped(text), "it is too long to be read");
        }
        if let Some(problem) = characters::problem(text) {
            return self.doubt(&clipped(text), problem);
        }
        let mut reader = Reader::new(text);
        let end = reader.until_end();
        let mut found = reader.found;
        match end {
            Ok(()) => self.script.unclear.extend(witness::doubts(text, &found.starts)),
            Err(stop) => self.doubt(&clipped(text.get(stop.at..).unwrap_or_default()), stop.why),
        }
        self.script.files.append(&mut found.files);
        self.script.unclear.append(&mut found.unclear);
        for mut raw in found.commands {
            raw.through.splice(0..0, around.through.iter().cloned());
            raw.sets.splice(0..0, around.sets.iter().cloned());
            if !around.through.is_empty() {
                raw.when = When::Elsewhere;
            }
            self.deeper(text, |reading| settle(reading, &raw));
        }
    }

    /// Reads what runs inside of something else.
    pub(super) fn deeper(&mut self, part: &str, read: impl FnOnce(&mut Self)) {
        if self.depth >= DEPTH || self.script.commands.len() >= MOST {
            return self.doubt(&clipped(part), "it is nested too deeply");
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    pub(super) fn doubt(&mut self, part: &str, why: &str) {
        let (part, why) = (part.to_owned(), why.to_owned());
        self.script.unclear.push(Unclear { part, why });
    }

    /// A command that changes the folder changes what relative names mean after it.
    fn finish(mut self) -> Script {
        let moves = |name: &str| ["cd", "pushd", "popd"].contains(&name);
        if self.script.commands.iter().any(|command| moves(&command.name)) {
            for file in &mut self.script.files {
                if let Word::Known(path) | Word::Glob(path) = &file.file
                    && !path.starts_with('/')
                {
                    file.file = Word::Unknown(path.clone());
                }
            }
            for command in self.script.commands.iter_mut().filter(|command| !command.name.starts_with('/')) {
                if command.name.contains('/') {
                    command.tricks.push("which program this is depends on the folder before it".to_owned());
                }
            }
        }
        self.script
    }
}

/// A part of a text that people can look at.
fn clipped(text: &str) -> String {
    text.chars().take(200).collect()
}
