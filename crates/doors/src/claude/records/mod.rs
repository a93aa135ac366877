//! Session files where the family's own functions look for them: what was said in a session, one JSON object a line, and
//! a file of its own for every agent below it.
//!
//! They are written from the session's log, so that a file that a killed door left behind is gone on with: nothing is
//! missing, and nothing is there twice. Nobody here reads them but for that.

mod book;
mod line;
mod mark;
mod page;
mod place;

pub(in crate::claude) use book::Records;
pub(in crate::claude) use place::projects;
