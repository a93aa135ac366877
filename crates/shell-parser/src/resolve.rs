//! Resolves a command as written to what it starts.

use super::raw_command::RawCommand;
use super::script_builder::ScriptBuilder;
use super::{SimpleCommand, builtins, risks, wrappers};

/// Folders of system programs.
const SYSTEM_FOLDERS: [&str; 6] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"];

/// The commands that a program such as `env` or `xargs` runs.
#[derive(Debug, Default)]
pub(super) struct InnerCommands {
    /// Commands.
    pub(super) commands: Vec<RawCommand>,
    /// Texts for a shell.
    pub(super) texts: Vec<String>,
    /// Whether the program itself is listed as a command too.
    pub(super) lists_itself: bool,
    /// Why it may do more than run them.
    pub(super) risks: Vec<&'static str>,
    /// Why the commands that it runs are unknown.
    pub(super) unclear: Option<&'static str>,
}

impl InnerCommands {
    /// A program that runs nothing but itself.
    pub(super) fn itself() -> InnerCommands {
        InnerCommands { lists_itself: true, ..InnerCommands::default() }
    }

    /// A program that runs something unknown.
    pub(super) fn unclear(why: &'static str) -> InnerCommands {
        InnerCommands { lists_itself: true, unclear: Some(why), ..InnerCommands::default() }
    }
}

/// Adds a command and what it runs.
pub(super) fn resolve_command(builder: &mut ScriptBuilder, raw: &RawCommand) {
    let Some(name) = raw.name() else {
        return builder.mark_unclear(&raw.display(), "which program it starts is only known when it runs");
    };
    if name.contains(char::is_whitespace) || name.starts_with('-') {
        builder.mark_unclear(&raw.display(), "this is not the name of a program");
    }
    let base = program_name(name);
    let mut inner_commands = wrappers::inner_commands(base, raw);
    // A program of this name in another folder may be anything.
    inner_commands.lists_itself |= !is_system(name);
    let problem = if name == base { builtins::problem(base, raw.args()) } else { None };
    if let Some(why) = inner_commands.unclear.or(problem) {
        builder.mark_unclear(&raw.display(), why);
    }
    let mut risks = risks::command_risks(base, raw);
    risks.extend(inner_commands.risks.iter().map(|risk| (*risk).to_owned()));
    risks.dedup();
    let itself = to_simple_command(name, raw, risks);
    let before = builder.script.commands.len();
    if inner_commands.lists_itself {
        builder.script.commands.push(itself.clone());
    }
    let part = raw.display();
    for inner in inner_commands.commands {
        builder.nested(&part, |builder| resolve_command(builder, &inner));
    }
    let around = raw.inner_command(&[]);
    for text in inner_commands.texts {
        builder.nested(&part, |builder| builder.add_text(&text, &around));
    }
    // A shell whose text starts nothing is itself started.
    if builder.script.commands.len() == before {
        builder.script.commands.push(itself);
    }
}

fn to_simple_command(name: &str, raw: &RawCommand, risks: Vec<String>) -> SimpleCommand {
    let args = raw.args().iter().map(|arg| arg.word.clone()).collect();
    let (assignments, wrappers) = (raw.assignments.clone(), raw.wrappers.clone());
    SimpleCommand { name: name.to_owned(), args, assignments, risks, wrappers, timing: raw.timing }
}

/// The program's name without its folder.
pub(super) fn program_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether this name means the well-known system program.
fn is_system(name: &str) -> bool {
    !name.contains('/')
        || SYSTEM_FOLDERS.iter().any(|folder| name.strip_prefix(folder).is_some_and(|rest| !rest.contains('/')))
}
