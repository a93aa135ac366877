//! The engine-driven fleet: the model plans, and the runtime works through the plan.
//!
//! The kernel decides which todos are due, who claims them and how they end. This module asks the main agent for a
//! plan, starts a worker for each due todo, shows the main agent the outcome, and ends the fleet. Progress is only in
//! the log, so a new owner process continues where the last one stopped. [`FleetControl`] is the one way to start a
//! fleet, for the command line, `/fleet`, an approved plan and clients of the API.

mod context;
mod control;
mod driver;
mod finish;
mod finished_todos;
mod history;
mod plan_check;
mod planning;
mod prompts;
mod request;
mod services;
mod steps;
mod worker;

pub use request::{FleetError, FleetHandle, FleetLimit, FleetOutcome, FleetRequest};
pub use services::ResultReuse;

pub(crate) use control::{ControlRequests, FleetControl, FleetRunner};
pub(crate) use prompts::deployment_text;
pub(crate) use services::FinishedTodo;
pub(crate) use worker::check_permitted;
