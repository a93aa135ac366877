//! The tools: one table, and one module for each tool.

mod answer_ask;
mod fleet_status;
mod list_agents;
mod list_asks;
mod list_todos;
mod message_agent;
mod read_agent;
mod start_agent;
mod start_fleet;
mod stop_agent;
mod table;

pub(super) use self::table::{all, call};
