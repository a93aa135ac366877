//! The result cache: results of earlier fleets that need not be produced again.
//!
//! A todo's *cache key* covers everything that determines its result: its text, agent, model, check and schema, and the
//! cache keys and results of its dependencies. Ids, positions and sessions are not part of it. A result is reused when
//! the cache key is the same and the todo's files are in one of two states: as they were after the fleet that produced
//! the result, or as they were before it, if the todo's work is stored in a commit.

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
pub(crate) use fleet_cache::{CacheScope, FleetResultCache};
pub use miss_reason::CacheMissReason;
pub use patterns::{FilePatterns, PatternError};
pub use result_store::ResultBackend;
pub use run_cache::{CacheLookup, RunResultCache, WorkLocation};
pub use tree_snapshot::{TreeSnapshot, TreeSnapshotError};
