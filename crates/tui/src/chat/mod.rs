//! A conversation with the main agent at a terminal.
//!
//! The conversation scrolls away like the output of any command; below it, a small panel shows the status and the input
//! line. One loop owns the terminal: it handles keys, events and signals one at a time, so nothing is ever drawn from two
//! places. Below the output of another command, a [`Prompter`] asks for decisions in the same way.

mod ask_queue;
mod ask_updates;
mod call_arguments;
mod call_history;
mod conversation;
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
mod open_conversation;
mod owner;
mod panel;
mod prompt_surface;
mod prompter;
mod screen;
mod session_call;
mod setup_dialog;
mod setup_questions;
mod slash_commands;
mod slash_line;
mod terminal;
mod terminal_command;
mod text;
mod view;

pub use ask_queue::parse_plan_decision;
pub use call_arguments::call_lines;
pub use conversation::{Conversation, ConversationEnd};
pub use history::InputHistory;
pub use open_conversation::{OpenConversation, SessionLink};
pub use owner::{AllowRules, ConversationError, ConversationOwner, SessionChoice, SlashCommands, SlashInput};
pub use prompt_surface::PromptSurface;
pub use prompter::{Prompter, PrompterInput, PrompterResult};
pub use session_call::{CallFailure, call_session};
pub use setup_dialog::ask_questions;
pub use setup_questions::{EnteredApiKey, ProviderOffer, SaveModel, SetupAnswers, SetupQuestions, UnreadyServer};
pub use slash_line::{SlashReply, run_slash_line};
