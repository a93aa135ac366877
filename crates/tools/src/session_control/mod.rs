//! The tools of the root in plan mode and on autopilot, each in two files: its code (`.rs`) and its description for the
//! model (`.md`).

mod exit_plan_mode;
mod task_complete;
mod write_plan;

pub(crate) use exit_plan_mode::ExitPlanMode;
pub(crate) use task_complete::TaskComplete;
pub(crate) use write_plan::WritePlan;
