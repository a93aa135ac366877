//! Doors: how programs that were written for another agent's SDK drive Bosun. A door only translates between a family's
//! wire and the API of `protocol`; what happens is decided where it always is.
//!
//! A client's troubles stay its own: frames are bounded, queues are bounded, and one that does not read is closed.

#![deny(missing_docs)]

pub mod claude;
pub mod copilot;
mod decision;
mod flags;
mod house;
pub mod http;
mod ids;
mod managed;
mod token;

pub use house::{ClientProvider, Ended, House, Opening, Order, Refusal, Staff};
pub use ids::{session_id, session_uuid};
