//! Where hooks are told of what happens in a session, and what becomes of what they say.
//!
//! Without hooks none of this costs anything: no event, no commit, no file. With them, each activation that hooks are
//! told the start of is one they are told the stop of, whoever owns the session by then.

mod calls;
mod listeners;
mod parting;
mod scribe;
mod session;

pub(crate) use calls::{Halt, Heard, Untold, Untolds, after, before, commanded, requested, told};
pub(crate) use listeners::{Listeners, tell};
pub(crate) use parting::{Manner, Partings};
pub(crate) use session::{ended, hear_prompt, prompted, started};
