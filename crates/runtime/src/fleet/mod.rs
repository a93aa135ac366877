//! The engine-driven fleet: the model plans, and the runtime works through the plan.
//!
//! The kernel says which todos are due, who holds one and what becomes of it; this asks the main agent for a plan, starts
//! a worker for each due todo, shows the main agent the outcome, and ends. How far it is, is in the log and nowhere else,
//! so a new owner goes on where the last one stopped.

mod bench;
mod counsel;
mod driver;
mod finish;
mod finished;
mod judge;
mod order;
mod past;
mod seams;
mod shared;
mod steps;
mod words;
mod worker;

pub use order::{Fleet, FleetError, FleetOrder, FleetOutcome, Halt};
pub use seams::{Aids, Done, Ground, Harvest, Harvested, Memory};
pub use shared::{NamedFiles, SharedFiles};

pub(crate) use driver::Driver;
pub(crate) use finished::Finished;
pub(crate) use judge::check;
pub(crate) use order::Ending;
pub(crate) use worker::permitted;
