//! The tools for working with subagents, each in two files: its code (`.rs`) and its description for the model (`.md`).

mod list_agents;
mod read_agent;
mod skill;
mod stop_agent;
mod task;
mod tool_search;
mod until;
mod wait;
mod write_agent;

pub(crate) use skill::LoadSkill;
pub(crate) use task::StartTask;
pub(crate) use tool_search::ToolSearch;

use std::sync::Arc;

use list_agents::ListAgents;
use read_agent::ReadAgent;
use stop_agent::StopAgent;
use until::UntilTool;
use wait::WaitFor;
use write_agent::WriteAgent;

use crate::Tool;
use crate::args::typed_tool;

/// The companions of `task`: reading, messaging, listing, stopping and waiting.
pub fn subagent_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        typed_tool::<ReadAgent>(),
        typed_tool::<WriteAgent>(),
        typed_tool::<ListAgents>(),
        typed_tool::<StopAgent>(),
        typed_tool::<WaitFor>(),
        typed_tool::<UntilTool>(),
    ]
}
