//! What a shell command would start: every program of every pipeline, list, substitution and wrapper in it.
//!
//! The promise: if nothing is unclear and no command has tricks, then running the text with bash starts only programs
//! that are named in `commands` or in their `through`, and the shell itself opens only `files`. Whatever cannot be
//! known from the text is said to be unclear. A false alarm costs a question; a miss would be a hole.
//!
//! Two readers see every text: our own, which is strict and refuses what it is not sure of, and tree-sitter's grammar
//! of bash. Where the second sees a command that the first does not, the text is unclear.

mod ansi;
mod awk;
mod braces;
mod builtins;
mod characters;
mod compound;
mod expansion;
mod find;
mod git;
mod growing;
mod here;
mod list;
mod options;
mod places;
mod programs;
mod raw;
mod read;
mod reader;
mod redirect;
mod script;
mod sed;
mod settle;
mod shells;
mod simple;
mod tricks;
mod variables;
mod witness;
mod word;
mod wrappers;

pub use places::Places;
pub use read::read;
pub use script::{Open, Redirect, Script, Simple, Unclear, When, Word};
