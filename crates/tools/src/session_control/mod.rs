//! The tools of the root in plan mode and on autopilot, each in two files: its code (`.rs`) and its description for the
//! model (`.md`).

mod exit_plan_mode;
mod task_complete;
mod write_plan;

use std::sync::Arc;

use exit_plan_mode::ExitPlanMode;
use task_complete::TaskComplete;
use write_plan::WritePlan;

use crate::Tool;
use crate::args::typed_tool;

/// The tools of the root in plan mode.
pub fn plan_mode_tools() -> Vec<Arc<dyn Tool>> {
    vec![typed_tool::<WritePlan>(), typed_tool::<ExitPlanMode>()]
}

/// The tools of the root on autopilot.
pub fn autopilot_tools() -> Vec<Arc<dyn Tool>> {
    vec![typed_tool::<TaskComplete>()]
}
