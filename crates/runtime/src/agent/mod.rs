//! An agent's activation, from its mail to its rest: ask the model, run the calls, until it has answered.
//!
//! The loop holds no truth of its own. Its conversation is folded from durable events, so dropping the loop at
//! any point and starting it again elsewhere goes on from the last event.

mod acts;
mod ask;
mod call;
mod call_ids;
mod contract;
mod day;
mod deadline;
mod desk;
mod early;
mod ends;
mod greet;
mod guard;
mod judge;
mod kept;
mod meant;
mod quote;
mod retry;
mod room;
mod run;
mod sealing;
mod turns;

pub(crate) use deadline::Deadline;
pub(crate) use desk::{Desk, Performer};
pub(crate) use kept::Conversations;
pub(crate) use quote::input as request_tokens;
pub(crate) use room::{Asked, compact_now};
pub(crate) use run::AgentRun;
