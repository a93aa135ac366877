//! What the reader finds.

/// What a command line would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// Every simple command in it, whatever it stands in, those inside wrappers such as `env` or `bash -c` included.
    pub commands: Vec<SimpleCommand>,
    /// Files that the shell itself opens.
    pub files: Vec<Redirect>,
    /// What could not be read, or means something only when it runs. A command with any of these is not simply allowed.
    pub unclear: Vec<UnclearPart>,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program or builtin as it is written, without quotes, such as `git` or `/usr/bin/git`.
    pub name: String,
    /// Its arguments.
    pub args: Vec<ShellWord>,
    /// Variables that are set for it alone.
    pub assignments: Vec<(String, ShellWord)>,
    /// Reasons why it may start other programs than its name says, or do more than such a program usually does: a `-c`
    /// of git, a `--to-command` of tar. A pattern with a wildcard does not cover a command that has any.
    pub risks: Vec<String>,
    /// What it runs through, outermost first, such as `sudo` or `xargs`. These are started too. Those that do nothing but
    /// run their command, such as `env`, are no commands of their own.
    pub wrappers: Vec<String>,
    /// When it runs.
    pub timing: CommandTiming,
}

/// When a command runs, as far as the line it stands in tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CommandTiming {
    /// Once, in the shell itself, after everything that is written before it.
    Once,
    /// Once at most, in the shell itself, after everything that is written before it.
    AtMostOnce,
    /// Several times, in another process, or somewhere that is not known.
    #[default]
    Unordered,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWord {
    /// Exactly this.
    Known(String),
    /// A pattern of file names that the shell expands.
    Glob(String),
    /// Only the shell knows; the text as it is written.
    Unknown(String),
}

/// A file that the shell itself opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// What for.
    pub mode: RedirectMode,
    /// The file.
    pub file: ShellWord,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectMode {
    /// To be read.
    Read,
    /// To be written.
    Write,
}

/// A part of a command that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnclearPart {
    /// The part as it is written.
    pub part: String,
    /// Why.
    pub why: String,
}
