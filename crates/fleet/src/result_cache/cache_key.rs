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
    /// The number of the todo among identical ones. Each has its own cache key, because their results may differ.
    duplicate_number: u64,
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
        let own_hash = hash_todo(todo, assignment);
        if self.drafts.get(&todo.id).is_some_and(|draft| draft.own_hash == own_hash && draft.depends_on == depends_on) {
            return;
        }
        let duplicates = self.duplicates.entry((own_hash, depends_on.clone())).or_default();
        let duplicate_number = *duplicates;
        *duplicates += 1;
        self.drafts.insert(todo.id.clone(), CacheKeyDraft { own_hash, depends_on, duplicate_number });
    }

    /// The cache key of a todo. The error names the dependency whose result is unknown, or the todo itself if it is not
    /// registered.
    pub(super) fn key(&self, todo: &TodoId) -> Result<ContentHash, TodoId> {
        let draft = self.drafts.get(todo).ok_or_else(|| todo.clone())?;
        let mut dependencies = Vec::new();
        for id in &draft.depends_on {
            let KeyedResult { key: cache_key, result } = self.results.get(id).ok_or_else(|| id.clone())?;
            dependencies.push((*cache_key, *result));
        }
        dependencies.sort();
        let hasher = ContentHasher::new("cache-key").content_hash(draft.own_hash).number(draft.duplicate_number);
        let hasher = hasher.number(dependencies.len() as u64);
        let add = |hasher: ContentHasher, (cache_key, result)| hasher.content_hash(cache_key).content_hash(result);
        Ok(dependencies.into_iter().fold(hasher, add).finish())
    }

    /// Records the result of a todo with this cache key.
    pub(super) fn set_result(&mut self, todo: &TodoId, cache_key: ContentHash, result: &str) {
        self.results.insert(todo.clone(), KeyedResult { key: cache_key, result: ContentHash::of_text(result) });
    }

    /// Forgets the result of a todo.
    pub(super) fn clear_result(&mut self, todo: &TodoId) {
        self.results.remove(todo);
    }

    /// The todos in topological order, dependencies first.
    pub(super) fn topological_order(&self) -> Vec<TodoId> {
        let mut open_dependencies: BTreeMap<&TodoId, usize> = BTreeMap::new();
        let mut dependents: BTreeMap<&TodoId, Vec<&TodoId>> = BTreeMap::new();
        for (id, draft) in &self.drafts {
            let dependencies = draft.depends_on.iter().filter(|id| self.drafts.contains_key(*id));
            open_dependencies.insert(id, dependencies.clone().count());
            dependencies.for_each(|dependency| dependents.entry(dependency).or_default().push(id));
        }
        let mut order: Vec<&TodoId> = open_dependencies
            .iter()
            .filter(|(_, open_dependencies)| **open_dependencies == 0)
            .map(|(id, _)| *id)
            .collect();
        let mut next = 0;
        while let Some(id) = order.get(next).copied() {
            next += 1;
            for dependent in dependents.get(id).into_iter().flatten() {
                if let Some(count) = open_dependencies.get_mut(dependent) {
                    *count -= 1;
                    if *count == 0 {
                        order.push(dependent);
                    }
                }
            }
        }
        order.into_iter().cloned().collect()
    }
}

/// Hashes the content and the assignment of a todo, but not its id, status or dependencies.
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
