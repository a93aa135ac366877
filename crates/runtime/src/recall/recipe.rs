//! Recipes: everything a todo is done with, as a digest.

use std::collections::BTreeMap;

use protocol::{Todo, TodoId};

use super::means::Means;
use super::sum::{Sum, Summing};

/// What the todos of a fleet are done with, and what those brought that are done.
#[derive(Debug, Clone, Default)]
pub(super) struct Recipes {
    drafts: BTreeMap<TodoId, Draft>,
    /// How many todos have had the same words and dependencies.
    twins: BTreeMap<(Sum, Vec<TodoId>), u64>,
    brought: BTreeMap<TodoId, Brought>,
}

/// What is known of a todo before those are done that it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Draft {
    own: Sum,
    depends_on: Vec<TodoId>,
    /// Its number among those that are the same: one may fail and the other not.
    twin: u64,
}

/// What a done todo was done with, and what it brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Brought {
    recipe: Sum,
    result: Sum,
}

impl Recipes {
    /// Takes a todo as it is written now.
    pub(super) fn learn(&mut self, todo: &Todo, means: &Means) {
        let mut depends_on = todo.depends_on.clone();
        depends_on.sort();
        depends_on.dedup();
        let own = own(todo, means);
        if self.drafts.get(&todo.id).is_some_and(|known| known.own == own && known.depends_on == depends_on) {
            return;
        }
        let twins = self.twins.entry((own, depends_on.clone())).or_default();
        let twin = *twins;
        *twins += 1;
        self.drafts.insert(todo.id.clone(), Draft { own, depends_on, twin });
    }

    /// The recipe of a todo, or what it depends on of which nobody knows what it brought.
    pub(super) fn recipe(&self, todo: &TodoId) -> Result<Sum, TodoId> {
        let draft = self.drafts.get(todo).ok_or_else(|| todo.clone())?;
        let mut above = Vec::new();
        for id in &draft.depends_on {
            let Brought { recipe, result } = self.brought.get(id).ok_or_else(|| id.clone())?;
            above.push((*recipe, *result));
        }
        above.sort();
        let begun = Summing::new("recipe").part(draft.own).number(draft.twin).number(above.len() as u64);
        Ok(above.into_iter().fold(begun, |summing, (recipe, result)| summing.part(recipe).part(result)).sum())
    }

    /// A todo is done with this recipe, and brought this.
    pub(super) fn bring(&mut self, todo: &TodoId, recipe: Sum, result: &str) {
        self.brought.insert(todo.clone(), Brought { recipe, result: Sum::of(result) });
    }

    /// What a todo brought does not count any more.
    pub(super) fn take_back(&mut self, todo: &TodoId) {
        self.brought.remove(todo);
    }

    /// The todos in an order in which each comes after what it depends on.
    pub(super) fn order(&self) -> Vec<TodoId> {
        let mut waits: BTreeMap<&TodoId, usize> = BTreeMap::new();
        let mut below: BTreeMap<&TodoId, Vec<&TodoId>> = BTreeMap::new();
        for (id, draft) in &self.drafts {
            let above = draft.depends_on.iter().filter(|above| self.drafts.contains_key(*above));
            waits.insert(id, above.clone().count());
            above.for_each(|above| below.entry(above).or_default().push(id));
        }
        let mut order: Vec<&TodoId> = waits.iter().filter(|(_, waits)| **waits == 0).map(|(id, _)| *id).collect();
        let mut next = 0;
        while let Some(id) = order.get(next).copied() {
            next += 1;
            for below in below.get(id).into_iter().flatten() {
                if let Some(left) = waits.get_mut(below) {
                    *left -= 1;
                    if *left == 0 {
                        order.push(below);
                    }
                }
            }
        }
        order.into_iter().cloned().collect()
    }
}

/// The words of a todo and who does it, without its id and its place.
fn own(todo: &Todo, means: &Means) -> Sum {
    let Todo {
        id: _,
        title,
        description,
        status: _,
        depends_on: _,
        agent_type: _,
        model: _,
        files,
        check,
        expects,
        reason: _,
    } = todo;
    let Means { agent, model, effort } = means;
    let mut files: Vec<&String> = files.iter().collect();
    files.sort();
    files.dedup();
    let begun = Summing::new("todo").text(title).maybe(description.as_deref()).text(agent).text(model);
    let effort = effort.map(|effort| format!("{effort:?}"));
    let begun = begun.maybe(effort.as_deref()).maybe(check.as_deref()).maybe(expects.as_deref());
    files.iter().fold(begun.number(files.len() as u64), |summing, file| summing.text(file)).sum()
}
