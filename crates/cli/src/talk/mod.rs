//! Line mode: a conversation at a terminal.
//!
//! What was said stays on the screen and scrolls away like the output of any command; below it a small panel shows
//! what goes on and the line that is being written. One loop owns the terminal and the session: keys, events and
//! signals come in, and each is answered before the next, so nothing is ever drawn from two places.

mod arguments;
mod asks;
mod calls;
mod choose;
mod command;
mod decide;
mod dialogue;
mod draft;
mod editor;
mod face;
mod feed;
mod history;
mod inline;
mod key;
mod keyboard;
mod markdown;
mod open;
mod panel;
mod perform;
mod person;
mod prompter;
mod questions;
mod screen;
mod settle;
mod start;
mod text;
mod view;
mod visit;

pub(crate) use arguments::call_lines;
pub(crate) use face::Surface;
pub(crate) use prompter::{Prompter, Shown, Typed};
pub(crate) use start::talk;
