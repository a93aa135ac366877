//! Remote models: three wire formats over one HTTP exchange.
//!
//! Each wire format converts a [`ModelRequest`](crate::ModelRequest) to a body, and the events of an answer to deltas.
//! A body starts with the parts that stay the same from turn to turn, and the varying parts come last, so that each
//! request starts with the bytes of the previous one and the provider's cache stays valid.

mod account;
mod anthropic;
mod chat;
mod date;
mod delta_queue;
mod endpoint;
mod error_phrases;
mod events;
mod exchange;
mod fault;
mod json_items;
#[cfg(test)]
mod mangled;
mod reasoning;
mod remote;
mod report;
mod responses;
mod retry_delay;
mod safe_names;
mod verbatim;
mod window;

pub(crate) use remote::RemoteModel;
