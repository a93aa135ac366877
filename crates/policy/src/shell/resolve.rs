//! Resolves a command as written to what it starts.

use super::raw_command::RawCommand;
use super::script_builder::ScriptBuilder;
use super::{SimpleCommand, builtins, risks, wrappers};

/// Folders of system programs.
const SYSTEM: [&str; 6] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"];

/// What a program that runs other programs runs.
#[derive(Debug, Default)]
pub(super) struct InnerCommands {
    /// Commands.
    pub(super) commands: Vec<RawCommand>,
    /// Texts for a shell.
    pub(super) texts: Vec<String>,
    /// Whether the program counts as a command itself.
    pub(super) listed: bool,
    /// Why it may do more than that.
    pub(super) risks: Vec<&'static str>,
    /// Why what it runs is unknown.
    pub(super) unclear: Option<&'static str>,
}

impl InnerCommands {
    /// A program that runs nothing but itself.
    pub(super) fn itself() -> InnerCommands {
        InnerCommands { listed: true, ..InnerCommands::default() }
    }

    /// A program that runs something unknown.
    pub(super) fn unclear(why: &'static str) -> InnerCommands {
        InnerCommands { listed: true, unclear: Some(why), ..InnerCommands::default() }
    }
}

/// Adds a command and what it runs.
pub(super) fn resolve_command(builder: &mut ScriptBuilder, raw: &RawCommand) {
    let Some(name) = raw.name() else {
        return builder.mark_unclear(&raw.shown(), "which program it starts is only known when it runs");
    };
    if name.contains(char::is_whitespace) || name.starts_with('-') {
        builder.mark_unclear(&raw.shown(), "this is not the name of a program");
    }
    let base = base(name);
    let mut runs = wrappers::inner_commands(base, raw);
    // A program of this name in another folder may be anything.
    runs.listed |= !is_system(name);
    let problem = if name == base { builtins::problem(base, raw.args()) } else { None };
    if let Some(why) = runs.unclear.or(problem) {
        builder.mark_unclear(&raw.shown(), why);
    }
    let mut risks = risks::command_risks(base, raw);
    risks.extend(runs.risks.iter().map(|risk| (*risk).to_owned()));
    risks.dedup();
    let itself = simple(name, raw, risks);
    let before = builder.script.commands.len();
    if runs.listed {
        builder.script.commands.push(itself.clone());
    }
    let part = raw.shown();
    for inner in runs.commands {
        builder.deeper(&part, |builder| resolve_command(builder, &inner));
    }
    let around = raw.inner(&[]);
    for text in runs.texts {
        builder.deeper(&part, |builder| builder.text(&text, &around));
    }
    // A shell whose text starts nothing is itself started.
    if builder.script.commands.len() == before {
        builder.script.commands.push(itself);
    }
}

fn simple(name: &str, raw: &RawCommand, risks: Vec<String>) -> SimpleCommand {
    let args = raw.args().iter().map(|arg| arg.word.clone()).collect();
    let (assignments, wrappers) = (raw.assignments.clone(), raw.wrappers.clone());
    SimpleCommand { name: name.to_owned(), args, assignments, risks, wrappers, timing: raw.timing }
}

/// The program's name without its folder.
pub(super) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether this name means the well-known system program.
fn is_system(name: &str) -> bool {
    !name.contains('/') || SYSTEM.iter().any(|folder| name.strip_prefix(folder).is_some_and(|rest| !rest.contains('/')))
}
