//! Real models: three forms of requests and answers over one way of asking.
//!
//! Each wire turns our [`Request`](crate::Request) into a body and the events of an answer into deltas. A body begins
//! with what stays the same from turn to turn, and what varies comes last, so that the request of a turn begins with
//! the bytes of the turn before and the provider's cache holds.

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
