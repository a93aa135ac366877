//! The engine-driven fleet: the model plans, and the runtime works through the plan.
//!
//! The kernel says which todos are due, who holds one and what becomes of it; this asks the main agent for a plan, starts
//! a worker for each due todo, shows the main agent the outcome, and ends. How far it is, is in the log and nowhere else,
//! so a new owner goes on where the last one stopped.

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
