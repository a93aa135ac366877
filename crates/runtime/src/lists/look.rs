//! Items are shown and waited for.

use std::sync::Arc;
use std::time::Duration;

use kernel::Kernel;
use protocol::{Clip, Item, ItemId, TaskId, Unclear};
use store::{ItemsWanted, ListError};
use tools::{Crew as _, ReadOrder, ToolError, Wait};

use super::shared::Trouble;
use super::words::told;
use super::{Lists, SharedList};

/// The fewest letters that a number must have to be the beginning of a task's id.
const TASK: usize = 6;

impl Lists {
    pub(super) fn list(&self) -> &Arc<SharedList> {
        &self.crew.desk.list
    }

    /// The agent that makes the call.
    pub(super) fn own(&self) -> TaskId {
        self.crew.caller.run.task
    }

    pub(super) async fn list_items(&self) -> Result<String, ToolError> {
        let items = match self.list().with(|list| list.items(&ItemsWanted::default())).await {
            Ok(items) => items,
            Err(trouble) => return Err(self.refused(trouble).await),
        };
        told(&items).into_iter().for_each(|item| self.list().note(self.own(), item));
        Ok(self.listed(&items))
    }

    /// An item by its number, or a task by whatever it goes by.
    pub(super) async fn get_item_or_task(&self, given: String, wait: Wait) -> Result<String, ToolError> {
        let Ok(id) = given.parse::<ItemId>() else { return self.get_task(given, wait).await };
        match self.get_item(id, wait).await {
            Err(Trouble::List(ListError::Missing(_))) if given.len() >= TASK => self.get_task(given, wait).await,
            Err(trouble) => Err(self.refused(trouble).await),
            Ok(item) => {
                self.list().note(self.own(), &item);
                Ok(self.shown(&item).await)
            }
        }
    }

    async fn get_item(&self, id: ItemId, wait: Wait) -> Result<Item, Trouble> {
        let item = self.list().with(move |list| list.get(id)).await?;
        let Wait::For(time) = wait else { return Ok(item) };
        let known = self.list().seen(self.own(), id).unwrap_or(item.version);
        if item.version != known || !item.status.is_open() {
            return Ok(item);
        }
        self.wait_for_change(&item, time).await;
        self.list().with(move |list| list.get(id)).await
    }

    /// Waits until an item is another than it was, or the task that does it comes to rest.
    async fn wait_for_change(&self, item: &Item, time: Duration) {
        let (id, version) = (item.id, item.version);
        let worked = match item.task {
            Some(task) if !self.rests(task).await => Some(task),
            Some(_) | None => None,
        };
        let changed = async {
            loop {
                self.list().stirs().await;
                let same = self.list().with(move |list| list.get(id)).await.is_ok_and(|item| item.version == version);
                let rests = match worked {
                    Some(task) => self.rests(task).await,
                    None => false,
                };
                if !same || rests {
                    return;
                }
            }
        };
        let until = self.crew.desk.settings.clock.now().plus(time);
        if let Err(rejected) = self.crew.caller.wait_until(until, changed).await {
            tracing::info!(%rejected, "nothing is waited for");
        }
    }

    /// Whether a task has nothing to do, or is another session's.
    async fn rests(&self, task: TaskId) -> bool {
        let look = move |kernel: &Kernel| kernel.task(task).is_none_or(|task| task.phase.is_at_rest());
        self.crew.caller.supervisor.look(look).await.unwrap_or(true)
    }

    async fn get_task(&self, given: String, wait: Wait) -> Result<String, ToolError> {
        let task = self.task(&given)?;
        let shown = self.crew.read(ReadOrder { agent: task.to_string(), wait, since_turn: None }).await?;
        let items = match self.list().with(move |list| list.of_task(task)).await {
            Ok(items) => items,
            Err(trouble) => return Err(self.refused(trouble).await),
        };
        let mut parts = vec![shown];
        for item in &items {
            self.list().note(self.own(), item);
            parts.push(self.shown(item).await);
        }
        Ok(parts.join("\n"))
    }

    /// A task below the calling agent.
    pub(super) fn task(&self, given: &str) -> Result<TaskId, ToolError> {
        self.crew.seek(given).map_err(|unclear| {
            let shown = Clip::new(given, 100);
            ToolError::refused(match unclear {
                Unclear::Nobody => format!("Task not found: {shown}"),
                Unclear::Several(paths) => {
                    format!("`{shown}` may be any of {}; use a path", Clip::new(&paths.join(", "), 2_000))
                }
            })
        })
    }
}
