//! Cache keys: everything a todo is done with, as a digest.

use std::collections::BTreeMap;

use protocol::{Todo, TodoId};

use super::assignment::Assignment;
use super::content_hash::{ContentHash, ContentHasher};

/// What the todos of a fleet are done with, and what those brought that are done.
#[derive(Debug, Clone, Default)]
pub(super) struct CacheKeys {
    drafts: BTreeMap<TodoId, CacheKeyDraft>,
    /// How many todos have had the same words and dependencies.
    duplicates: BTreeMap<(ContentHash, Vec<TodoId>), u64>,
    results: BTreeMap<TodoId, KeyedResult>,
}

/// What is known of a todo before those are done that it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CacheKeyDraft {
    own_hash: ContentHash,
    depends_on: Vec<TodoId>,
    /// Its number among those that are the same: one may fail and the other not.
    duplicate: u64,
}

/// What a done todo was done with, and what it brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyedResult {
    key: ContentHash,
    result: ContentHash,
}

impl CacheKeys {
    /// Takes a todo as it is written now.
    pub(super) fn register(&mut self, todo: &Todo, means: &Assignment) {
        let mut depends_on = todo.depends_on.clone();
        depends_on.sort();
        depends_on.dedup();
        let own = hash_todo(todo, means);
        if self.drafts.get(&todo.id).is_some_and(|known| known.own_hash == own && known.depends_on == depends_on) {
            return;
        }
        let twins = self.duplicates.entry((own, depends_on.clone())).or_default();
        let twin = *twins;
        *twins += 1;
        self.drafts.insert(todo.id.clone(), CacheKeyDraft { own_hash: own, depends_on, duplicate: twin });
    }

    /// The cache key of a todo, or what it depends on of which nobody knows what it brought.
    pub(super) fn key(&self, todo: &TodoId) -> Result<ContentHash, TodoId> {
        let draft = self.drafts.get(todo).ok_or_else(|| todo.clone())?;
        let mut above = Vec::new();
        for id in &draft.depends_on {
            let KeyedResult { key: cache_key, result } = self.results.get(id).ok_or_else(|| id.clone())?;
            above.push((*cache_key, *result));
        }
        above.sort();
        let begun =
            ContentHasher::new("cache-key").part(draft.own_hash).number(draft.duplicate).number(above.len() as u64);
        Ok(above.into_iter().fold(begun, |summing, (cache_key, result)| summing.part(cache_key).part(result)).finish())
    }

    /// A todo is done with this cache key, and brought this.
    pub(super) fn set_result(&mut self, todo: &TodoId, cache_key: ContentHash, result: &str) {
        self.results.insert(todo.clone(), KeyedResult { key: cache_key, result: ContentHash::of(result) });
    }

    /// What a todo brought does not count any more.
    pub(super) fn clear_result(&mut self, todo: &TodoId) {
        self.results.remove(todo);
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
fn hash_todo(todo: &Todo, means: &Assignment) -> ContentHash {
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
    let Assignment { agent, model, effort } = means;
    let mut files: Vec<&String> = files.iter().collect();
    files.sort();
    files.dedup();
    let begun = ContentHasher::new("todo").text(title).optional(description.as_deref()).text(agent).text(model);
    let effort = effort.map(|effort| format!("{effort:?}"));
    let begun = begun.optional(effort.as_deref()).optional(check.as_deref()).optional(expects.as_deref());
    files.iter().fold(begun.number(files.len() as u64), |summing, file| summing.text(file)).finish()
}
