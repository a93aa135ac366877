//! `bosun` on a terminal: opens sessions for a conversation with the main agent, which `tui` draws.

mod model_setup;
mod owner;
mod prepared_chat;
mod start;

pub(crate) use start::run_chat;
