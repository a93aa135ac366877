//! A session's log in the family's words. The same log gives the same events with the same ids, whoever reads it and
//! however often: what a client missed, it can be told again.

mod asks;
mod mail;
mod permission;
mod session;
mod tasks;
mod translator;
mod turns;
mod wire;

pub(crate) use translator::Translator;
pub(crate) use wire::{Wire, message_id};
