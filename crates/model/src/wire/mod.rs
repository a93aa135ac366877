//! Real models: three forms of requests and answers over one way of asking.
//!
//! Each wire turns our [`Request`](crate::Request) into a body and the events of an answer into deltas. A body begins
//! with what stays the same from turn to turn, and what varies comes last, so that the request of a turn begins with
//! the bytes of the turn before and the provider's cache holds.

mod account;
mod anthropic;
mod arrival;
mod chat;
mod date;
mod events;
mod exchange;
mod fault;
#[cfg(test)]
mod mangled;
mod names;
mod pause;
mod place;
mod remote;
mod report;
mod responses;
mod thinks;
mod verbatim;
mod window;
mod words;
mod written;

pub(crate) use remote::Remote;
