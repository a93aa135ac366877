//! What fleets have done before and need not do again.
//!
//! A todo's *cache key* is everything it is done with: its words, agent, model, check and schema, and the cache keys and
//! results of what it depends on. A result is used again when the cache key is the same and the files that the todo looks at
//! are as they were when the run had ended that did it, or as they were when that run began and the work itself is kept
//! in a commit. Ids, positions and sessions are no part of it.

mod assignment;
mod cache_key;
mod commits;
mod content_hash;
mod excluded;
mod fleet_cache;
mod miss_reason;
mod patterns;
mod result_store;
mod run_cache;
mod tree_snapshot;

#[cfg(test)]
mod tests;

pub use assignment::{Assignment, AssignmentContext};
pub(crate) use commits::RepositoryCommits;
pub use commits::{CommitPinner, NoCommits};
pub use excluded::excluded_paths;
pub use fleet_cache::FleetResultCache;
pub use miss_reason::CacheMissReason;
pub use patterns::FilePatterns;
pub(crate) use patterns::GlobIndex;
pub use result_store::ResultBackend;
pub use run_cache::{CacheLookup, RunResultCache, WorkLocation};
pub use tree_snapshot::{TreeSnapshot, TreeSnapshotError};
