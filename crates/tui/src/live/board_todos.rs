//! The todos of a board, with the number of those that are done: every line of a log shows it.

use std::collections::BTreeMap;

use protocol::{TodoId, TodoStatus};

use super::board::BoardTodo;

/// The todos of a board. Each change goes through this type, which counts.
#[derive(Debug, Clone, Default)]
pub(super) struct BoardTodos {
    todos: BTreeMap<TodoId, BoardTodo>,
    done: usize,
}

impl BoardTodos {
    pub(super) fn len(&self) -> usize {
        self.todos.len()
    }

    /// The number of done todos.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    pub(super) fn get(&self, id: &TodoId) -> Option<&BoardTodo> {
        self.todos.get(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&TodoId, &BoardTodo)> {
        self.todos.iter()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &BoardTodo> {
        self.todos.values()
    }

    pub(super) fn insert(&mut self, id: TodoId, todo: BoardTodo) {
        self.done += usize::from(is_done(&todo));
        let replaced = self.todos.insert(id, todo);
        self.done -= usize::from(replaced.as_ref().is_some_and(is_done));
    }

    pub(super) fn remove(&mut self, id: &TodoId) -> Option<BoardTodo> {
        let removed = self.todos.remove(id);
        self.done -= usize::from(removed.as_ref().is_some_and(is_done));
        removed
    }

    /// Changes a todo, if there is one of this id.
    pub(super) fn change(&mut self, id: &TodoId, change: impl FnOnce(&mut BoardTodo)) {
        let Some(todo) = self.todos.get_mut(id) else { return };
        self.done -= usize::from(is_done(todo));
        change(todo);
        self.done += usize::from(is_done(todo));
    }

    /// Changes all todos.
    pub(super) fn change_all(&mut self, change: impl FnMut(&mut BoardTodo)) {
        self.todos.values_mut().for_each(change);
        self.done = self.todos.values().filter(|todo| is_done(todo)).count();
    }
}

fn is_done(todo: &BoardTodo) -> bool {
    todo.status == TodoStatus::Done
}
