//! A session's log in the family's words. The same log gives the same events with the same ids, whoever reads it and
//! however often: what a client missed, it can be told again.

mod asks;
mod event;
mod mail;
mod permission;
mod session;
mod tasks;
mod translator;
mod turns;

pub(crate) use event::{CopilotEvent, message_id};
pub(crate) use translator::EventTranslator;
