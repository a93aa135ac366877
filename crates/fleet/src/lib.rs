//! The engine-driven fleet: the model plans, and the runtime works through the plan.
//!
//! The kernel decides which todos are due, who claims them and how they end. This crate asks the main agent for a plan,
//! starts a worker for each due todo, shows the main agent the outcome, merges the work, and ends the fleet. Progress is
//! only in the log, so a new owner process continues where the last one stopped. A session reaches it through
//! [`runtime::FleetRunner`], and it reaches the session through [`runtime::FleetSession`].

#![deny(missing_docs)]

mod context;
mod driver;
mod finish;
mod finished_todos;
mod history;
mod merging;
mod plan_check;
mod planning;
mod prompts;
mod result_cache;
mod runner;
mod services;
mod steps;
mod worker;

pub use result_cache::{
    Assignment, AssignmentContext, CacheLookup, CacheMissReason, CommitPinner, FilePatterns, NoCommits, PatternError,
    ResultBackend, RunResultCache, TreeSnapshot, TreeSnapshotError, WorkLocation, excluded_paths,
};
pub use runner::FleetEngine;
