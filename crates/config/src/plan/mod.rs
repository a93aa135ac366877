//! Plan files: the todos of a fleet, what they depend on, who does them, and how each is checked.
//!
//! A plan is read whole or not at all, and everything that is wrong with it is said at once. What depends on the machine
//! (which agents, models, patterns and schemas can be used) is asked of a [`PlanChecker`].

mod check;
mod form;
mod keys;
mod lengths;
mod links;
mod read;
mod shape;
mod todo;

pub use check::PlanChecker;
pub use form::plan_schema;
pub use read::{FleetPlan, PlanLimits};
pub use shape::PlanShape;
