//! From a text to what it would do.

use super::parser::{MAX_DEPTH, ShellParser};
use super::raw_command::RawCommand;
use super::resolve::resolve_command;
use super::{CommandTiming, ShellScript, ShellWord, UnclearPart, characters, grammar_check};

/// How much text is read; longer ones are for people to look at.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// How many commands are kept.
const MAX_COMMANDS: usize = 2048;

/// Reads a command line as bash would.
pub fn parse(command: &str) -> ShellScript {
    let mut reading = ScriptBuilder::default();
    reading.text(command, &RawCommand::default());
    reading.finish()
}

/// A script as it grows.
#[derive(Debug, Default)]
pub(super) struct ScriptBuilder {
    pub(super) script: ShellScript,
    /// How many wrappers stand around what is read.
    pub(super) depth: usize,
}

impl ScriptBuilder {
    /// Reads a text that a shell reads. What is around it holds for every command in it.
    pub(super) fn text(&mut self, text: &str, around: &RawCommand) {
        if text.len() > MAX_TEXT_BYTES {
            return self.doubt(&clipped(text), "it is too long to be read");
        }
        if let Some(problem) = characters::problem(text) {
            return self.doubt(&clipped(text), problem);
        }
        let mut reader = ShellParser::new(text);
        let end = reader.until_end();
        let mut found = reader.found;
        match end {
            Ok(()) => self.script.unclear.extend(grammar_check::doubts(text, &found.starts)),
            Err(stop) => self.doubt(&clipped(text.get(stop.at..).unwrap_or_default()), stop.why),
        }
        self.script.files.append(&mut found.files);
        self.script.unclear.append(&mut found.unclear);
        for mut raw in found.commands {
            raw.wrappers.splice(0..0, around.wrappers.iter().cloned());
            raw.assignments.splice(0..0, around.assignments.iter().cloned());
            if !around.wrappers.is_empty() {
                raw.timing = CommandTiming::Unordered;
            }
            self.deeper(text, |reading| resolve_command(reading, &raw));
        }
    }

    /// Reads what runs inside of something else.
    pub(super) fn deeper(&mut self, part: &str, read: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH || self.script.commands.len() >= MAX_COMMANDS {
            return self.doubt(&clipped(part), "it is nested too deeply");
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    pub(super) fn doubt(&mut self, part: &str, why: &str) {
        let (part, why) = (part.to_owned(), why.to_owned());
        self.script.unclear.push(UnclearPart { part, why });
    }

    /// A command that changes the folder changes what relative names mean after it.
    fn finish(mut self) -> ShellScript {
        let moves = |name: &str| ["cd", "pushd", "popd"].contains(&name);
        if self.script.commands.iter().any(|command| moves(&command.name)) {
            for file in &mut self.script.files {
                if let ShellWord::Known(path) | ShellWord::Glob(path) = &file.file
                    && !path.starts_with('/')
                {
                    file.file = ShellWord::Unknown(path.clone());
                }
            }
            for command in self.script.commands.iter_mut().filter(|command| !command.name.starts_with('/')) {
                if command.name.contains('/') {
                    command.risks.push("which program this is depends on the folder before it".to_owned());
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
