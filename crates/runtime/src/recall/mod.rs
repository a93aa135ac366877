//! What fleets have done before and need not do again.
//!
//! A todo's *recipe* is everything it is done with: its words, agent, model, check and schema, and the recipes and
//! results of what it depends on. A result is used again when the recipe is the same and the files that the todo looks at
//! are as they were when the run had ended that did it, or as they were when that run began and the work itself is kept
//! in a commit. Ids, positions and sessions are no part of it.

mod apart;
mod census;
mod means;
mod memory;
mod patterns;
mod recipe;
mod recollection;
mod shelf;
mod sum;
mod why;
mod works;

#[cfg(test)]
mod tests;

pub use apart::apart;
pub use census::{Census, CensusError};
pub use means::{Means, Staff};
pub use memory::FleetMemory;
pub use patterns::FilePatterns;
pub(crate) use patterns::Globs;
pub use recollection::{Landing, Recalled, Recollection};
pub use shelf::Shelf;
pub use why::Why;
pub(crate) use works::Commits;
pub use works::{NoWorks, Works};
