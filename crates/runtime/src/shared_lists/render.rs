//! Items as text for a model. Text by other authors is quoted as data, below the runtime's own facts.

use kernel::Kernel;
use protocol::{ItemId, ItemStatus, ListItem, TaskId};
use store::ListError;
use tools::ToolError;

use super::AgentItemList;
use super::shared::SharedListError;
use crate::compact::one_line;
use crate::prompt;

/// Maximum bytes of one line of a list.
const MAX_LINE_BYTES: usize = 200;

/// Maximum number of items that are shown of a list.
const MAX_LISTED_ITEMS: usize = 200;

/// Bytes of an answer that are reserved for text around the quote.
const RESERVED_BYTES: usize = 1024;

impl AgentItemList {
    /// An item with all its details.
    pub(super) async fn render_item(&self, item: &ListItem) -> String {
        let mut lines = vec![format!("Item {} of the {} list: {}", item.id, self.list().name, describe_status(item))];
        for (label, ids) in [("blocked by", &item.blocked_by), ("blocks", &item.blocks)] {
            if !ids.is_empty() {
                lines.push(format!("{label}: {}", join_ids(ids)));
            }
        }
        if let Some(task) = item.task {
            lines.push(format!("task: {}", self.describe_task(task).await));
        }
        lines.push(format!("Text by {}:", one_line(&item.author, MAX_LINE_BYTES)));
        lines.push(prompt::quote_within(&item_text(item), self.max_quote_bytes()));
        lines.join("\n")
    }

    /// A list with a line for each item, open items first.
    pub(super) fn render_list(&self, items: &[ListItem]) -> String {
        let name = &self.list().name;
        if items.is_empty() {
            return format!("The {name} list is empty.");
        }
        let is_open = |id: &ItemId| items.iter().any(|item| item.id == *id && item.status.is_open());
        let line = |item: &&ListItem| {
            let mut notes: Vec<String> =
                item.owner.iter().map(|owner| format!("owner {}", one_line(owner, MAX_LINE_BYTES))).collect();
            let open_blockers: Vec<ItemId> = item.blocked_by.iter().copied().filter(is_open).collect();
            if !open_blockers.is_empty() {
                notes.push(format!("blocked by {}", join_ids(&open_blockers)));
            }
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
            format!("{} [{}] {}{notes}", item.id, item.status.as_str(), one_line(&item.subject, MAX_LINE_BYTES))
        };
        let mut lines: Vec<String> = items_to_show(items).iter().map(line).collect();
        if items.len() > MAX_LISTED_ITEMS {
            lines.push(format!("and {} more", items.len() - MAX_LISTED_ITEMS));
        }
        let open = items.iter().filter(|item| item.status.is_open()).count();
        let head = format!("The {name} list has {open} open and {} completed items.", items.len() - open);
        format!("{head}\n{}", prompt::quote_within(&lines.join("\n"), self.max_quote_bytes()))
    }

    /// The error for the model to act on.
    pub(super) async fn tool_error(&self, error: SharedListError) -> ToolError {
        match error {
            SharedListError::List(ListError::Stale { fresh, .. }) => self.stale_error(&fresh).await,
            SharedListError::List(ListError::Store(error)) => ToolError::failed(error),
            SharedListError::List(error) => ToolError::refused(error.to_string()),
            SharedListError::Thread(error) => ToolError::failed(error),
        }
    }

    /// The refusal of a change to an outdated version, with the current item.
    async fn stale_error(&self, current: &ListItem) -> ToolError {
        self.list().mark_seen(self.calling_task(), current);
        ToolError::refused(format!(
            "nothing was changed: item {} has changed since you last saw it. This is its current state; make your \
             change again if it still applies.\n{}",
            current.id,
            self.render_item(current).await
        ))
    }

    /// The refusal of a change by an agent that has not seen the item.
    pub(super) async fn unseen_error(&self, current: &ListItem) -> ToolError {
        self.list().mark_seen(self.calling_task(), current);
        ToolError::refused(format!(
            "nothing was changed: you have not seen item {} yet. This is its current state; make your change again \
             if it still applies.\n{}",
            current.id,
            self.render_item(current).await
        ))
    }

    /// A task by its path and state, or by its id if another session has it.
    async fn describe_task(&self, task: TaskId) -> String {
        let state = move |kernel: &Kernel| kernel.task(task).map(|task| task.phase.state().as_str());
        match self.subagents.caller.supervisor.query(state).await {
            Ok(Some(state)) => format!("{} ({task}), {state}", self.subagents.context.log.roster.path(task)),
            Ok(None) | Err(_) => format!("{task} of another session"),
        }
    }

    fn max_quote_bytes(&self) -> usize {
        self.subagents.context.facts.tools.output_bytes.saturating_sub(RESERVED_BYTES)
    }
}

/// The items that are shown of a list, open items first.
pub(super) fn items_to_show(items: &[ListItem]) -> Vec<&ListItem> {
    let (open, done): (Vec<&ListItem>, Vec<&ListItem>) = items.iter().partition(|item| item.status.is_open());
    open.into_iter().chain(done).take(MAX_LISTED_ITEMS).collect()
}

/// The status of an item in one line.
pub(super) fn describe_status(item: &ListItem) -> String {
    let archived = if item.archived { ", archived" } else { "" };
    format!("{}{archived}, version {}, last changed {}", item.status.as_str(), item.version, item.updated_at)
}

fn item_text(item: &ListItem) -> String {
    let mut lines = vec![format!("subject: {}", item.subject)];
    lines.extend(item.owner.iter().map(|owner| format!("owner: {owner}")));
    lines.extend(
        item.active_form.iter().filter(|_| item.status == ItemStatus::InProgress).map(|text| format!("now: {text}")),
    );
    if !item.metadata.is_empty() {
        lines.push(format!("metadata: {}", serde_json::Value::Object(item.metadata.clone())));
    }
    if !item.description.is_empty() {
        lines.push(item.description.clone());
    }
    lines.join("\n")
}

fn join_ids(ids: &[ItemId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
