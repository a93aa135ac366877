//! The engine-driven fleet: the model plans, and the runtime works through the plan.
//!
//! The kernel decides which todos are due, who claims them and how they end. This module asks the main agent for a
//! plan, starts a worker for each due todo, shows the main agent the outcome, and ends the fleet. Progress is only in
//! the log, so a new owner process continues where the last one stopped.

mod context;
mod driver;
mod finish;
mod finished_todos;
mod history;
mod plan_check;
mod planning;
mod prompts;
mod request;
mod services;
mod shared_files;
mod steps;
mod worker;

pub use request::{FleetError, FleetHandle, FleetLimit, FleetOutcome, FleetRequest};
pub use services::{CollectedWork, Collector, FinishedTodo, FleetServices, TodoResultCache, WorkspaceProvider};
pub use shared_files::{SharedFiles, TodoFiles};

pub(crate) use driver::FleetDriver;
pub(crate) use finished_todos::FinishedTodos;
pub(crate) use plan_check::check_plan;
pub(crate) use request::FleetOutcomeSender;
pub(crate) use worker::check_permitted;
