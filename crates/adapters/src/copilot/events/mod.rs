//! Translates a session's log into events of the Copilot SDK. The same log always yields the same events with the same
//! ids, so a client can receive missed events later.

mod asks;
mod event;
mod mail;
mod permission;
mod session;
mod tasks;
mod translator;
mod turns;
mod user_shell;

pub(crate) use asks::NOBODY_AVAILABLE;
pub(crate) use event::{CopilotEvent, message_id};
pub(crate) use permission::permission_request;
pub(crate) use translator::EventTranslator;
