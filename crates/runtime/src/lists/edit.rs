//! Items are made and changed. Hooks hear of what is about to be made or completed, and may say no.

use hooks::{ItemStep, ItemTold, Occasion, Ruling};
use kernel::Report;
use protocol::{HookEvent, Item, ItemId, ItemStatus};
use serde_json::{Map, Value};
use store::{Changed, ItemChange, NewItem, Seen};
use tools::{ItemEdit, ItemOrder, ToolError};

use super::Lists;
use super::shared::Trouble;
use super::words::standing;
use crate::hooks::tell;

/// What hooks tell the agent of an item.
type Context = Vec<String>;

impl Lists {
    pub(super) async fn create_item(&self, order: ItemOrder) -> Result<String, ToolError> {
        let new = self.new_item(order);
        let at = self.crew.desk.settings.clock.now();
        let is_told = self.crew.desk.is_told_of(self.own(), HookEvent::TaskCreated);
        let (made, context) = if is_told {
            let reserved = new.clone();
            let reserve = move |list: &store::List| reserved.check().and_then(|()| list.reserve(at));
            let id = self.tried(self.list().with(reserve).await).await?;
            let told = self.told(id, &new.subject, &new.description, new.owner.as_ref());
            let context = match self.permitted(ItemStep::Made, told).await {
                Ok(context) => context,
                Err(refused) => {
                    self.tried(self.list().with(move |list| list.release(id)).await).await?;
                    return Err(refused);
                }
            };
            (self.list().with(move |list| list.fill(id, new, at)).await, context)
        } else {
            (self.list().with(move |list| list.create(new, at)).await, Context::new())
        };
        let made = self.tried(made).await?;
        self.publish(&made).await?;
        Ok(with(
            format!("Item {} is on the {} list: {}", made.item.id, self.list().name, standing(&made.item)),
            &context,
        ))
    }

    pub(super) async fn update_item(&self, id: ItemId, edit: ItemEdit) -> Result<String, ToolError> {
        let fresh = self.tried(self.list().with(move |list| list.get(id)).await).await?;
        let Some(version) = self.list().seen(self.own(), id) else { return Err(self.unseen(&fresh).await) };
        let change = self.change(&fresh, edit);
        let at = self.crew.desk.settings.clock.now();
        let seen = Seen::Version(version);
        let completes = change.status == Some(ItemStatus::Completed) && fresh.status != ItemStatus::Completed;
        let context = if completes && self.crew.desk.is_told_of(self.own(), HookEvent::TaskCompleted) {
            let rehearsed = change.clone();
            let rehearse = move |list: &store::List| list.rehearse(id, seen, &rehearsed, at);
            let after = self.tried(self.list().with(rehearse).await).await?.item;
            self.permitted(ItemStep::Completed, self.told(id, &after.subject, &after.description, after.owner.as_ref()))
                .await?
        } else {
            Context::new()
        };
        let changed = self.tried(self.list().with(move |list| list.update(id, seen, &change, at)).await).await?;
        self.publish(&changed).await?;
        Ok(with(format!("Item {id} is {}", standing(&changed.item)), &context))
    }

    fn new_item(&self, order: ItemOrder) -> NewItem {
        let ItemOrder { subject, description, active_form, metadata } = order;
        NewItem {
            subject: self.clean(subject),
            description: self.clean(description),
            active_form: active_form.map(|text| self.clean(text)),
            metadata: self.clean_all(metadata),
            author: self.author(),
            ..NewItem::default()
        }
    }

    /// What an edit means. Whoever begins with an item does it, unless it says who does.
    fn change(&self, fresh: &Item, edit: ItemEdit) -> ItemChange {
        let begins = edit.status == Some(ItemStatus::InProgress);
        let named = edit.owner.as_deref().filter(|owner| !owner.is_empty());
        let does = named.and_then(|owner| self.crew.anybody(owner)).or(begins.then(|| self.own()));
        let nobody = begins && fresh.owner.is_none();
        let owner = edit.owner.map(|text| self.clean(text)).or_else(|| nobody.then(|| self.path()));
        ItemChange {
            subject: edit.subject.map(|text| self.clean(text)),
            description: edit.description.map(|text| self.clean(text)),
            active_form: edit.active_form.map(|text| self.clean(text)),
            status: edit.status,
            owner,
            add_blocks: edit.add_blocks,
            add_blocked_by: edit.add_blocked_by,
            unblock: Vec::new(),
            metadata: self.clean_all(edit.metadata),
            task: does,
            author: self.author(),
        }
    }

    fn told(&self, id: ItemId, subject: &str, description: &str, owner: Option<&String>) -> ItemTold {
        let (subject, description) = (subject.to_owned(), description.to_owned());
        ItemTold { list: self.list().name.clone(), id, subject, description, owner: owner.cloned() }
    }

    /// Asks hooks; nobody is there to be asked in their stead.
    async fn permitted(&self, step: ItemStep, item: ItemTold) -> Result<Context, ToolError> {
        let (id, what) = match step {
            ItemStep::Made => (item.id, "made"),
            ItemStep::Completed => (item.id, "completed"),
        };
        let verdict = tell(&self.crew.desk, self.crew.caller.run, Occasion::Item { step, item }).await;
        match verdict.ruling {
            Ruling::Deny { reason } | Ruling::Ask { reason } => {
                Err(ToolError::refused(format!("a hook did not permit that item {id} is {what}: {reason}")))
            }
            Ruling::Nothing | Ruling::Allow => Ok(verdict.context),
        }
    }

    /// Says in the session what was changed.
    async fn publish(&self, changed: &Changed) -> Result<(), ToolError> {
        self.list().wrote(self.own(), changed);
        for item in std::iter::once(&changed.item).chain(&changed.others) {
            let report = Report::ItemChanged { list: self.list().name.clone(), item: Box::new(item.clone()) };
            self.crew.caller.supervisor.report(self.crew.caller.run, report).await.map_err(ToolError::broken)?;
        }
        Ok(())
    }

    async fn tried<T>(&self, done: Result<T, Trouble>) -> Result<T, ToolError> {
        match done {
            Ok(done) => Ok(done),
            Err(trouble) => Err(self.refused(trouble).await),
        }
    }

    /// Whose words an item holds: other sessions read them too.
    fn author(&self) -> String {
        format!("{} of {}", self.path(), self.crew.desk.session)
    }

    fn path(&self) -> String {
        self.crew.desk.roster.path(self.own()).to_string()
    }

    /// A text without keys: lists are kept where nothing else looks for them.
    fn clean(&self, mut text: String) -> String {
        self.crew.desk.redactor.text(&mut text);
        text
    }

    fn clean_all(&self, fields: Map<String, Value>) -> Map<String, Value> {
        fields.into_iter().map(|(name, value)| (self.clean(name), self.clean_value(value))).collect()
    }

    fn clean_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.clean(text)),
            Value::Array(all) => all.into_iter().map(|value| self.clean_value(value)).collect(),
            Value::Object(fields) => Value::Object(self.clean_all(fields)),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
        }
    }
}

fn with(answer: String, context: &[String]) -> String {
    if context.is_empty() { answer } else { format!("{answer}\n\n{}", context.join("\n\n")) }
}
