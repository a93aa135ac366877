//! Finds what a shell command would start: every program of every pipeline, list, substitution and wrapper in it.
//!
//! The promise: if nothing is unclear and no command has risks, then running the text with bash starts only programs
//! named in `commands` or in their `wrappers`, and the shell itself opens only `files`. Everything that cannot be known
//! from the text is reported as unclear. A false alarm costs a question; a miss would be a hole.
//!
//! Two parsers read every text: our own, which is strict and refuses what it is not sure of, and tree-sitter's bash
//! grammar. If the second finds a command that the first does not, the text is unclear.

#![deny(missing_docs)]

mod ansi;
mod awk;
mod braces;
mod builtins;
mod characters;
mod command_folders;
mod compound;
mod expansion;
mod find;
mod git;
mod grammar_check;
mod here;
mod list;
mod options;
mod parser;
mod programs;
mod raw_command;
mod redirect;
mod resolve;
mod risks;
mod script;
mod script_builder;
mod sed;
mod shells;
mod simple;
mod variables;
mod word;
mod word_builder;
mod wrappers;

pub use command_folders::CommandFolders;
pub use script::{CommandTiming, Redirect, RedirectMode, ShellScript, ShellWord, SimpleCommand, UnclearPart};
pub use script_builder::parse;
