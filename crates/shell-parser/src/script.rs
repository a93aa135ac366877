//! What the parser finds in a command line.

/// What a command line would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// Every simple command in it at any depth, including those inside wrappers such as `env` or `bash -c`.
    pub commands: Vec<SimpleCommand>,
    /// Files that the shell itself opens.
    pub files: Vec<Redirect>,
    /// Parts that cannot be parsed, or are only known at run time. A command with any of these is not simply allowed.
    pub unclear: Vec<UnclearPart>,
}

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The program or builtin as written, without quotes, such as `git` or `/usr/bin/git`.
    pub name: String,
    /// Its arguments.
    pub args: Vec<ShellWord>,
    /// Variables set for it alone.
    pub assignments: Vec<(String, ShellWord)>,
    /// Reasons why it may start other programs than its name says, or do more than such a program usually does: git's
    /// `-c`, tar's `--to-command`. A pattern with a wildcard does not cover a command with any of these.
    pub risks: Vec<String>,
    /// The programs it runs through, outermost first, such as `sudo` or `xargs`. These are started too. Those that only
    /// run their command, such as `env`, are not listed as commands.
    pub wrappers: Vec<String>,
    /// When it runs.
    pub timing: CommandTiming,
}

/// When a command runs, as far as its line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CommandTiming {
    /// Once, in the shell itself, after everything written before it.
    Once,
    /// At most once, in the shell itself, after everything written before it.
    AtMostOnce,
    /// Several times, in another process, or unknown.
    #[default]
    Unordered,
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWord {
    /// Known to be exactly this text.
    Known(String),
    /// A pattern of file names that the shell expands.
    Glob(String),
    /// Only known to the shell; the text as written.
    Unknown(String),
}

/// A file that the shell itself opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// How it is opened.
    pub mode: RedirectMode,
    /// The file.
    pub file: ShellWord,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectMode {
    /// For reading.
    Read,
    /// For writing.
    Write,
}

/// A part of a command that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnclearPart {
    /// The part as written.
    pub part: String,
    /// Why.
    pub why: String,
}
