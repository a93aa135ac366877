//! The list that the agents of a session share with each other, and perhaps with other sessions: the runtime's side of
//! the tools that create, show and change its items.

mod edit;
mod query;
mod render;
mod shared;
mod tasks;

use protocol::ItemId;
use tools::{BoxFuture, CreateItemRequest, ItemEdit, ToolError, WaitLimit};

use crate::subagents::AgentSubagents;

pub(crate) use shared::SharedList;

/// The calling agent's access to the session's list.
#[derive(Debug)]
pub(crate) struct AgentItemList {
    pub(crate) subagents: AgentSubagents,
}

impl tools::SharedListAccess for AgentItemList {
    fn create(&self, request: CreateItemRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.create_item(request))
    }

    fn get(&self, id: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.get_item_or_task(id, wait))
    }

    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.list_items())
    }

    fn update(&self, item: ItemId, edit: ItemEdit) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.update_item(item, edit))
    }

    fn output(&self, task: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.task_output(task, wait))
    }

    fn stop(&self, task: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.stop_task(task))
    }
}
