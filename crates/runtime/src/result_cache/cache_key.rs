//! Cache keys: a digest of everything that determines a todo's result.

use std::collections::BTreeMap;

use protocol::{Todo, TodoId};

use super::assignment::Assignment;
use super::content_hash::{ContentHash, ContentHasher};

/// The cache keys of a fleet's todos, and the results of those that are done.
#[derive(Debug, Clone, Default)]
pub(super) struct CacheKeys {
    drafts: BTreeMap<TodoId, CacheKeyDraft>,
    /// How many todos have had the same text and dependencies.
    duplicates: BTreeMap<(ContentHash, Vec<TodoId>), u64>,
    results: BTreeMap<TodoId, KeyedResult>,
}

/// The part of a cache key that is known before the dependencies are done.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CacheKeyDraft {
    own_hash: ContentHash,
    depends_on: Vec<TodoId>,
    /// Its number among identical todos: one may fail and another not.
    duplicate: u64,
}

/// The cache key and the result of a done todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyedResult {
    key: ContentHash,
    result: ContentHash,
}

impl CacheKeys {
    /// Registers a todo in its current form.
    pub(super) fn register(&mut self, todo: &Todo, assignment: &Assignment) {
        let mut depends_on = todo.depends_on.clone();
        depends_on.sort();
        depends_on.dedup();
        let own = hash_todo(todo, assignment);
        if self.drafts.get(&todo.id).is_some_and(|known| known.own_hash == own && known.depends_on == depends_on) {
            return;
        }
        let duplicates = self.duplicates.entry((own, depends_on.clone())).or_default();
        let duplicate = *duplicates;
        *duplicates += 1;
        self.drafts.insert(todo.id.clone(), CacheKeyDraft { own_hash: own, depends_on, duplicate });
    }

    /// The cache key of a todo, or the dependency whose result is unknown.
    pub(super) fn key(&self, todo: &TodoId) -> Result<ContentHash, TodoId> {
        let draft = self.drafts.get(todo).ok_or_else(|| todo.clone())?;
        let mut dependencies = Vec::new();
        for id in &draft.depends_on {
            let KeyedResult { key: cache_key, result } = self.results.get(id).ok_or_else(|| id.clone())?;
            dependencies.push((*cache_key, *result));
        }
        dependencies.sort();
        let hasher = ContentHasher::new("cache-key").content_hash(draft.own_hash).number(draft.duplicate);
        let hasher = hasher.number(dependencies.len() as u64);
        let add = |hasher: ContentHasher, (cache_key, result)| hasher.content_hash(cache_key).content_hash(result);
        Ok(dependencies.into_iter().fold(hasher, add).finish())
    }

    /// Records the result of a todo with this cache key.
    pub(super) fn set_result(&mut self, todo: &TodoId, cache_key: ContentHash, result: &str) {
        self.results.insert(todo.clone(), KeyedResult { key: cache_key, result: ContentHash::of(result) });
    }

    /// Forgets the result of a todo.
    pub(super) fn clear_result(&mut self, todo: &TodoId) {
        self.results.remove(todo);
    }

    /// The todos in topological order, dependencies first.
    pub(super) fn order(&self) -> Vec<TodoId> {
        let mut waits: BTreeMap<&TodoId, usize> = BTreeMap::new();
        let mut dependents: BTreeMap<&TodoId, Vec<&TodoId>> = BTreeMap::new();
        for (id, draft) in &self.drafts {
            let dependencies = draft.depends_on.iter().filter(|id| self.drafts.contains_key(*id));
            waits.insert(id, dependencies.clone().count());
            dependencies.for_each(|dependency| dependents.entry(dependency).or_default().push(id));
        }
        let mut order: Vec<&TodoId> = waits.iter().filter(|(_, waits)| **waits == 0).map(|(id, _)| *id).collect();
        let mut next = 0;
        while let Some(id) = order.get(next).copied() {
            next += 1;
            for dependent in dependents.get(id).into_iter().flatten() {
                if let Some(left) = waits.get_mut(dependent) {
                    *left -= 1;
                    if *left == 0 {
                        order.push(dependent);
                    }
                }
            }
        }
        order.into_iter().cloned().collect()
    }
}

/// Hashes the text and assignment of a todo, without its id and position.
fn hash_todo(todo: &Todo, assignment: &Assignment) -> ContentHash {
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
    let Assignment { agent, model, effort } = assignment;
    let mut files: Vec<&String> = files.iter().collect();
    files.sort();
    files.dedup();
    let hasher = ContentHasher::new("todo").text(title).optional(description.as_deref()).text(agent).text(model);
    let effort = effort.map(|effort| format!("{effort:?}"));
    let hasher = hasher.optional(effort.as_deref()).optional(check.as_deref()).optional(expects.as_deref());
    files.iter().fold(hasher.number(files.len() as u64), |hasher, file| hasher.text(file)).finish()
}
