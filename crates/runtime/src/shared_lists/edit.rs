//! Creates and changes items. Hooks run before an item is created or completed, and may refuse it.

use hooks::{HookEventData, HookItem, ItemStep, Ruling};
use kernel::RunUpdate;
use protocol::{HookEvent, ItemId, ItemStatus, ListItem};
use serde_json::{Map, Value};
use store::{ChangedItems, ExpectedVersion, ItemChange, NewItem};
use tools::{CreateItemRequest, ItemEdit, ToolError};

use super::AgentItemList;
use super::render::describe_status;
use super::shared::SharedListError;
use crate::hooks::run_hooks;

/// Context from hooks for the agent.
type HookNotes = Vec<String>;

impl AgentItemList {
    pub(super) async fn create_item(&self, request: CreateItemRequest) -> Result<String, ToolError> {
        let new = self.new_item(request);
        let now = self.subagents.context.facts.clock.now();
        let has_hook = self.subagents.context.may_have_hook_for(self.calling_task(), HookEvent::TaskCreated);
        let (created, context) = if has_hook {
            let reserved = new.clone();
            let reserve = move |list: &store::ItemList| reserved.check().and_then(|()| list.reserve(now));
            let id = self.or_refuse(self.list().with(reserve).await).await?;
            let item = self.hook_item(id, &new.subject, &new.description, new.owner.as_ref());
            let context = match self.ask_hooks(ItemStep::Created, item).await {
                Ok(context) => context,
                Err(refused) => {
                    self.or_refuse(self.list().with(move |list| list.release_reserved(id)).await).await?;
                    return Err(refused);
                }
            };
            (self.list().with(move |list| list.create_reserved(id, new, now)).await, context)
        } else {
            (self.list().with(move |list| list.create(new, now)).await, HookNotes::new())
        };
        let created = self.or_refuse(created).await?;
        self.publish(&created).await?;
        let item = &created.item;
        Ok(append_context(
            format!("Item {} is on the {} list: {}", item.id, self.list().name, describe_status(item)),
            &context,
        ))
    }

    pub(super) async fn update_item(&self, id: ItemId, edit: ItemEdit) -> Result<String, ToolError> {
        let current = self.or_refuse(self.list().with(move |list| list.get(id)).await).await?;
        let Some(version) = self.list().seen_version(self.calling_task(), id) else {
            return Err(self.unseen_error(&current).await);
        };
        let change = self.change(&current, edit);
        let now = self.subagents.context.facts.clock.now();
        let expected = ExpectedVersion::Version(version);
        let completes = change.status == Some(ItemStatus::Completed) && current.status != ItemStatus::Completed;
        let context =
            if completes && self.subagents.context.may_have_hook_for(self.calling_task(), HookEvent::TaskCompleted) {
                let previewed = change.clone();
                let preview = move |list: &store::ItemList| list.preview_update(id, expected, &previewed, now);
                let after = self.or_refuse(self.list().with(preview).await).await?.item;
                self.ask_hooks(
                    ItemStep::Completed,
                    self.hook_item(id, &after.subject, &after.description, after.owner.as_ref()),
                )
                .await?
            } else {
                HookNotes::new()
            };
        let update = move |list: &store::ItemList| list.update(id, expected, &change, now);
        let changed = self.or_refuse(self.list().with(update).await).await?;
        self.publish(&changed).await?;
        Ok(append_context(format!("Item {id} is {}", describe_status(&changed.item)), &context))
    }

    fn new_item(&self, request: CreateItemRequest) -> NewItem {
        let CreateItemRequest { subject, description, active_form, metadata } = request;
        NewItem {
            subject: self.redact(subject),
            description: self.redact(description),
            active_form: active_form.map(|text| self.redact(text)),
            metadata: self.redact_fields(metadata),
            author: self.author(),
            ..NewItem::default()
        }
    }

    /// The change that an edit makes. An agent that starts an item becomes its owner, unless the edit names one.
    fn change(&self, current: &ListItem, edit: ItemEdit) -> ItemChange {
        let starts = edit.status == Some(ItemStatus::InProgress);
        let named = edit.owner.as_deref().filter(|owner| !owner.is_empty());
        let task =
            named.and_then(|owner| self.subagents.find_in_session(owner)).or(starts.then(|| self.calling_task()));
        let claims = starts && current.owner.is_none();
        let owner = edit.owner.map(|text| self.redact(text)).or_else(|| claims.then(|| self.path()));
        ItemChange {
            subject: edit.subject.map(|text| self.redact(text)),
            description: edit.description.map(|text| self.redact(text)),
            active_form: edit.active_form.map(|text| self.redact(text)),
            status: edit.status,
            owner,
            add_blocks: edit.add_blocks,
            add_blocked_by: edit.add_blocked_by,
            remove_blocked_by: Vec::new(),
            metadata: self.redact_fields(edit.metadata),
            task,
            author: self.author(),
        }
    }

    fn hook_item(&self, id: ItemId, subject: &str, description: &str, owner: Option<&String>) -> HookItem {
        let (subject, description) = (subject.to_owned(), description.to_owned());
        HookItem { list: self.list().name.clone(), id, subject, description, owner: owner.cloned() }
    }

    /// Runs the hooks. The user is not asked: a hook that answers `ask` counts as a refusal.
    async fn ask_hooks(&self, step: ItemStep, item: HookItem) -> Result<HookNotes, ToolError> {
        let (id, what) = match step {
            ItemStep::Created => (item.id, "creating"),
            ItemStep::Completed => (item.id, "completing"),
        };
        let verdict =
            run_hooks(&self.subagents.context, self.subagents.caller.run, HookEventData::Item { step, item }).await;
        match verdict.ruling {
            Ruling::Deny { reason } | Ruling::Ask { reason } => {
                Err(ToolError::refused(format!("a hook did not permit {what} item {id}: {reason}")))
            }
            Ruling::Nothing | Ruling::Allow => Ok(verdict.context),
        }
    }

    /// Reports the changed items to the session.
    async fn publish(&self, changed: &ChangedItems) -> Result<(), ToolError> {
        self.list().record_change(self.calling_task(), changed);
        for item in std::iter::once(&changed.item).chain(&changed.others) {
            let report = RunUpdate::ItemChanged { list: self.list().name.clone(), item: Box::new(item.clone()) };
            self.subagents
                .caller
                .supervisor
                .report(self.subagents.caller.run, report)
                .await
                .map_err(ToolError::failed)?;
        }
        Ok(())
    }

    async fn or_refuse<T>(&self, result: Result<T, SharedListError>) -> Result<T, ToolError> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.tool_error(error).await),
        }
    }

    /// The author of an item's text, with the session, since other sessions read it too.
    fn author(&self) -> String {
        format!("{} of {}", self.path(), self.subagents.context.facts.session)
    }

    fn path(&self) -> String {
        self.subagents.context.log.roster.path(self.calling_task()).to_string()
    }

    /// A text without secrets: nothing else redacts the files of shared lists.
    fn redact(&self, mut text: String) -> String {
        self.subagents.context.workplace.redactor.redact_text(&mut text);
        text
    }

    fn redact_fields(&self, fields: Map<String, Value>) -> Map<String, Value> {
        fields.into_iter().map(|(name, value)| (self.redact(name), self.redact_value(value))).collect()
    }

    fn redact_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(text)),
            Value::Array(all) => all.into_iter().map(|value| self.redact_value(value)).collect(),
            Value::Object(fields) => Value::Object(self.redact_fields(fields)),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
        }
    }
}

fn append_context(answer: String, context: &[String]) -> String {
    if context.is_empty() { answer } else { format!("{answer}\n\n{}", context.join("\n\n")) }
}
