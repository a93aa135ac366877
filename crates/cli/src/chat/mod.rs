//! `bosun` on a terminal: a conversation with the main agent.
//!
//! The conversation scrolls away like the output of any command; below it, a small panel shows the status and the input
//! line. One loop owns the terminal and the session: it handles keys, events and signals one at a time, so nothing is
//! ever drawn from two places.

mod ask_queue;
mod ask_updates;
mod call_arguments;
mod call_history;
mod dialogue;
mod dialogue_asks;
mod dialogue_lifecycle;
mod draft;
mod editor;
mod feed;
mod history;
mod inline_row;
mod key;
mod keyboard;
mod markdown;
mod model_setup;
mod open_chat;
mod panel;
mod prompt_surface;
mod prompter;
mod screen;
mod setup_questions;
mod slash_commands;
mod start;
mod terminal;
mod terminal_command;
mod text;
mod view;

pub(crate) use call_arguments::call_lines;
pub(crate) use prompt_surface::PromptSurface;
pub(crate) use prompter::{Prompter, PrompterInput, PrompterResult};
pub(crate) use start::run_chat;
