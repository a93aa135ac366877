//! What a fleet asks of others: what was done before, where workers work, and what becomes of their work.

use std::fmt;
use std::sync::Arc;

use protocol::{FleetTerms, Isolation, Todo, TodoId};
use tools::BoxFuture;

/// What was done before and need not be done again.
pub trait Memory: Send + Sync + fmt::Debug {
    /// The fleet is about to work through these todos.
    fn begin<'a>(&'a self, _todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// The result that this todo had, if it need not be done again.
    fn recall<'a>(&'a self, _todo: &'a Todo) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    /// The todo is done.
    fn keep<'a>(&'a self, _kept: Kept<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// The fleet has done what it can.
    fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// What a done todo brought.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// The todo.
    pub todo: &'a Todo,
    /// What its worker said last.
    pub result: &'a str,
    /// The commit that holds its work, if it worked in a checkout of its own.
    pub work: Option<&'a str>,
}

/// Where workers work.
pub trait Ground: Send + Sync + fmt::Debug {
    /// The place of the worker that does this todo; the session's own folder when there is none. Says in words why it
    /// cannot have the one it needs.
    fn place<'a>(
        &'a self,
        terms: &'a FleetTerms,
        _todo: &'a Todo,
    ) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        let own = terms.isolated.then_some(Isolation::Worktree { base: None, dirty: terms.dirty });
        Box::pin(async move { Ok(own) })
    }
}

/// What becomes of the work when everything is done that could be.
pub trait Harvest: Send + Sync + fmt::Debug {
    /// Brings the work of these todos together; they come in the order that they were written.
    fn gather<'a>(&'a self, _terms: &'a FleetTerms, _done: &'a [TodoId]) -> BoxFuture<'a, Harvested> {
        Box::pin(async { Harvested::Whole })
    }
}

/// What became of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Harvested {
    /// All of it is where it belongs.
    Whole,
    /// That of these todos is not, for these reasons.
    Short(Vec<(TodoId, String)>),
}

/// What a fleet is helped by.
#[derive(Debug, Clone)]
pub struct Aids {
    /// What was done before.
    pub memory: Arc<dyn Memory>,
    /// Where workers work.
    pub ground: Arc<dyn Ground>,
    /// What becomes of their work.
    pub harvest: Arc<dyn Harvest>,
}

impl Default for Aids {
    fn default() -> Self {
        Aids { memory: Arc::new(Usual), ground: Arc::new(Usual), harvest: Arc::new(Usual) }
    }
}

/// Nothing is remembered, places are as the terms say, and work stays where it was done.
#[derive(Debug)]
struct Usual;

impl Memory for Usual {}
impl Ground for Usual {}
impl Harvest for Usual {}
