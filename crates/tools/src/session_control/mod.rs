//! The tools of a session's own agent in plan mode and on autopilot, each in two files: what it does, and what the
//! model is told.

mod exit_plan_mode;
mod task_complete;
mod write_plan;

pub(crate) use exit_plan_mode::ExitPlanMode;
pub(crate) use task_complete::TaskComplete;
pub(crate) use write_plan::WritePlan;
