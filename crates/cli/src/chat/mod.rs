//! `bosun` on a terminal: a conversation with the main agent.
//!
//! The conversation scrolls away like the output of any command; below it, a small panel shows the status and the input
//! line. One loop owns the terminal and the session: it handles keys, events and signals one at a time, so nothing is
//! ever drawn from two places.

mod ask_updates;
mod dialogue;
mod dialogue_asks;
mod dialogue_lifecycle;
mod feed;
mod model_setup;
mod open_chat;
mod prompter;
mod slash_commands;
mod start;
mod terminal_command;
mod view;

pub(crate) use prompter::{Prompter, PrompterInput, PrompterResult};
pub(crate) use start::run_chat;
