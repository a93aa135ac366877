//! Parses a text into what it would do.

use super::parser::{MAX_DEPTH, ShellParser};
use super::raw_command::RawCommand;
use super::resolve::resolve_command;
use super::{CommandTiming, ShellScript, ShellWord, UnclearPart, characters, grammar_check};

/// Maximum length of a text that is parsed; the user decides about longer ones.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Maximum number of commands.
const MAX_COMMANDS: usize = 2048;

/// Parses a command line as bash would.
pub fn parse(command: &str) -> ShellScript {
    let mut builder = ScriptBuilder::default();
    builder.add_text(command, &RawCommand::default());
    builder.finish()
}

/// A script under construction.
#[derive(Debug, Default)]
pub(super) struct ScriptBuilder {
    pub(super) script: ShellScript,
    /// The current nesting depth of wrappers.
    pub(super) depth: usize,
}

impl ScriptBuilder {
    /// Parses a text for a shell. The wrappers and assignments of `around` apply to every command in it.
    pub(super) fn add_text(&mut self, text: &str, around: &RawCommand) {
        if text.len() > MAX_TEXT_BYTES {
            return self.mark_unclear(&clipped(text), "it is too long to parse");
        }
        if let Some(problem) = characters::problem(text) {
            return self.mark_unclear(&clipped(text), problem);
        }
        let mut parser = ShellParser::new(text);
        let end = parser.until_end();
        let mut found = parser.script;
        match end {
            Ok(()) => self.script.unclear.extend(grammar_check::disagreements(text, &found.starts)),
            Err(stop) => self.mark_unclear(&clipped(text.get(stop.position..).unwrap_or_default()), stop.why),
        }
        self.script.files.append(&mut found.files);
        self.script.unclear.append(&mut found.unclear);
        for mut raw in found.commands {
            raw.wrappers.splice(0..0, around.wrappers.iter().cloned());
            raw.assignments.splice(0..0, around.assignments.iter().cloned());
            if !around.wrappers.is_empty() {
                raw.timing = CommandTiming::Unordered;
            }
            self.nested(text, |builder| resolve_command(builder, &raw));
        }
    }

    /// Parses something nested.
    pub(super) fn nested(&mut self, part: &str, read: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH || self.script.commands.len() >= MAX_COMMANDS {
            return self.mark_unclear(&clipped(part), "it is nested too deeply");
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    pub(super) fn mark_unclear(&mut self, part: &str, why: &str) {
        let (part, why) = (part.to_owned(), why.to_owned());
        self.script.unclear.push(UnclearPart { part, why });
    }

    /// Returns the script. After a command that changes the folder, relative names are unknown.
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
                    command.risks.push("which program this is depends on an earlier change of folder".to_owned());
                }
            }
        }
        self.script
    }
}

/// Clips a text for display.
fn clipped(text: &str) -> String {
    text.chars().take(200).collect()
}
