//! From a command as it is written to what it starts.

use super::raw_command::RawCommand;
use super::script_builder::ScriptBuilder;
use super::{SimpleCommand, builtins, risks, wrappers};

/// Folders that hold the programs of the system.
const SYSTEM: [&str; 6] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"];

/// What a program that runs others runs.
#[derive(Debug, Default)]
pub(super) struct InnerCommands {
    /// Commands.
    pub(super) commands: Vec<RawCommand>,
    /// Texts that a shell reads.
    pub(super) texts: Vec<String>,
    /// Whether the program counts as a command itself.
    pub(super) listed: bool,
    /// Why it may do more than that.
    pub(super) risks: Vec<&'static str>,
    /// Why what it runs is not known.
    pub(super) unclear: Option<&'static str>,
}

impl InnerCommands {
    /// A program that runs nothing but itself.
    pub(super) fn itself() -> InnerCommands {
        InnerCommands { listed: true, ..InnerCommands::default() }
    }

    /// A program that runs something that is not known.
    pub(super) fn unclear(why: &'static str) -> InnerCommands {
        InnerCommands { listed: true, unclear: Some(why), ..InnerCommands::default() }
    }
}

/// Adds a command, and what it runs.
pub(super) fn resolve_command(reading: &mut ScriptBuilder, raw: &RawCommand) {
    let Some(name) = raw.name() else {
        return reading.doubt(&raw.shown(), "which program it starts is only known when it runs");
    };
    if name.contains(char::is_whitespace) || name.starts_with('-') {
        reading.doubt(&raw.shown(), "this is not a name of a program");
    }
    let base = base(name);
    let mut runs = wrappers::inner_commands(base, raw);
    // A program of this name elsewhere may be anything.
    runs.listed |= !is_system(name);
    let problem = if name == base { builtins::problem(base, raw.args()) } else { None };
    if let Some(why) = runs.unclear.or(problem) {
        reading.doubt(&raw.shown(), why);
    }
    let mut tricks = risks::command_risks(base, raw);
    tricks.extend(runs.risks.iter().map(|trick| (*trick).to_owned()));
    tricks.dedup();
    let itself = simple(name, raw, tricks);
    let before = reading.script.commands.len();
    if runs.listed {
        reading.script.commands.push(itself.clone());
    }
    let part = raw.shown();
    for inner in runs.commands {
        reading.deeper(&part, |reading| resolve_command(reading, &inner));
    }
    let around = raw.inner(&[]);
    for text in runs.texts {
        reading.deeper(&part, |reading| reading.text(&text, &around));
    }
    // A shell whose text starts nothing was started all the same.
    if reading.script.commands.len() == before {
        reading.script.commands.push(itself);
    }
}

fn simple(name: &str, raw: &RawCommand, tricks: Vec<String>) -> SimpleCommand {
    let args = raw.args().iter().map(|arg| arg.word.clone()).collect();
    let (sets, through) = (raw.assignments.clone(), raw.wrappers.clone());
    SimpleCommand {
        name: name.to_owned(),
        args,
        assignments: sets,
        risks: tricks,
        wrappers: through,
        timing: raw.timing,
    }
}

/// The program's name without its folder.
pub(super) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether this name means the program that everybody knows by it.
fn is_system(name: &str) -> bool {
    !name.contains('/') || SYSTEM.iter().any(|folder| name.strip_prefix(folder).is_some_and(|rest| !rest.contains('/')))
}
