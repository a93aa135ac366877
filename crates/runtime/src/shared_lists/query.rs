//! Shows items and waits for their changes.

use std::sync::Arc;
use std::time::Duration;

use kernel::Kernel;
use protocol::{Clip, ItemId, ListItem, TaskId, TaskLookupError};
use store::{ItemQuery, ListError};
use tools::{ReadAgentRequest, Subagents as _, ToolError, WaitLimit};

use super::render::items_to_show;
use super::shared::SharedListError;
use super::{AgentItemList, SharedList};

/// The minimum length of a number that can be the beginning of a task's id.
const MIN_TASK_PREFIX_CHARS: usize = 6;

impl AgentItemList {
    pub(super) fn list(&self) -> &Arc<SharedList> {
        &self.subagents.context.shared_list
    }

    /// The calling agent's task.
    pub(super) fn calling_task(&self) -> TaskId {
        self.subagents.caller.run.task
    }

    pub(super) async fn list_items(&self) -> Result<String, ToolError> {
        let items = match self.list().with(|list| list.items(&ItemQuery::default())).await {
            Ok(items) => items,
            Err(error) => return Err(self.tool_error(error).await),
        };
        items_to_show(&items).into_iter().for_each(|item| self.list().mark_seen(self.calling_task(), item));
        Ok(self.render_list(&items))
    }

    /// Shows an item by its number, or a task by its name, path or id.
    pub(super) async fn get_item_or_task(&self, reference: String, wait: WaitLimit) -> Result<String, ToolError> {
        let Ok(id) = reference.parse::<ItemId>() else { return self.get_task(reference, wait).await };
        match self.get_item(id, wait).await {
            Err(SharedListError::List(ListError::Missing(_))) if reference.len() >= MIN_TASK_PREFIX_CHARS => {
                self.get_task(reference, wait).await
            }
            Err(error) => Err(self.tool_error(error).await),
            Ok(item) => {
                self.list().mark_seen(self.calling_task(), &item);
                Ok(self.render_item(&item).await)
            }
        }
    }

    async fn get_item(&self, id: ItemId, wait: WaitLimit) -> Result<ListItem, SharedListError> {
        let item = self.list().with(move |list| list.get(id)).await?;
        let WaitLimit::For(time) = wait else { return Ok(item) };
        let seen = self.list().seen_version(self.calling_task(), id).unwrap_or(item.version);
        if item.version != seen || !item.status.is_open() {
            return Ok(item);
        }
        self.wait_for_change(&item, time).await;
        self.list().with(move |list| list.get(id)).await
    }

    /// Waits until an item has changed, or the task that works on it becomes idle.
    async fn wait_for_change(&self, item: &ListItem, time: Duration) {
        let (id, version) = (item.id, item.version);
        let worker = match item.task {
            Some(task) if !self.is_at_rest(task).await => Some(task),
            Some(_) | None => None,
        };
        let changed = async {
            loop {
                self.list().changed_or_timeout().await;
                let is_unchanged =
                    self.list().with(move |list| list.get(id)).await.is_ok_and(|item| item.version == version);
                let is_idle = match worker {
                    Some(task) => self.is_at_rest(task).await,
                    None => false,
                };
                if !is_unchanged || is_idle {
                    return;
                }
            }
        };
        let until = self.subagents.context.facts.clock.now().plus(time);
        if let Err(rejected) = self.subagents.caller.wait_until(until, changed).await {
            tracing::info!(%rejected, "cannot wait for the item");
        }
    }

    /// Whether a task is idle or finished, or belongs to another session.
    async fn is_at_rest(&self, task: TaskId) -> bool {
        let is_at_rest = move |kernel: &Kernel| kernel.task(task).is_none_or(|task| task.phase.is_at_rest());
        self.subagents.caller.supervisor.query(is_at_rest).await.unwrap_or(true)
    }

    async fn get_task(&self, reference: String, wait: WaitLimit) -> Result<String, ToolError> {
        let task = self.find_task(&reference)?;
        let shown = self.subagents.read(ReadAgentRequest { agent: task.to_string(), wait, since_turn: None }).await?;
        let items = match self.list().with(move |list| list.of_task(task)).await {
            Ok(items) => items,
            Err(error) => return Err(self.tool_error(error).await),
        };
        let mut parts = vec![shown];
        for item in &items {
            self.list().mark_seen(self.calling_task(), item);
            parts.push(self.render_item(item).await);
        }
        Ok(parts.join("\n"))
    }

    /// A task below the calling agent.
    pub(super) fn find_task(&self, reference: &str) -> Result<TaskId, ToolError> {
        self.subagents.look_up_below(reference).map_err(|error| {
            let shown = Clip::new(reference, 100);
            ToolError::refused(match error {
                TaskLookupError::NotFound => format!("Task not found: {shown}"),
                TaskLookupError::Ambiguous(paths) => {
                    format!("`{shown}` may be any of {}; use a path", Clip::new(&paths.join(", "), 2_000))
                }
            })
        })
    }
}
