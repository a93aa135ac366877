//! Plan files: the todos of a fleet, with their dependencies, agents and checks.
//!
//! A plan is read completely or not at all, and all its problems are reported at once. A [`PlanChecker`] checks what
//! depends on the machine: which agents, models, patterns and schemas can be used.

mod check;
mod form;
mod keys;
mod lengths;
mod links;
mod prepare;
mod read;
mod shape;
mod todo;

pub use check::PlanChecker;
pub use form::{PLAN_SCHEMA, generate_plan_schema};
pub use prepare::{PrepareFleetError, PreparedFleet, prepare_fleet};
pub use read::{FleetPlan, PlanLimits};
pub use shape::PlanShape;
