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

pub(crate) use list_agents::ListAgents;
pub(crate) use read_agent::ReadAgent;
pub(crate) use skill::LoadSkill;
pub(crate) use stop_agent::StopAgent;
pub(crate) use task::StartTask;
pub(crate) use tool_search::ToolSearch;
pub(crate) use until::UntilTool;
pub(crate) use wait::WaitFor;
pub(crate) use write_agent::WriteAgent;
