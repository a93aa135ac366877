//! What a fleet asks of others: what was done before, where workers work, and what becomes of their work.

use std::fmt;
use std::sync::Arc;

use protocol::{Brought, FleetTerms, Isolation, Todo, TodoId};
use tools::BoxFuture;

use crate::Session;
use crate::recall::{FleetMemory, Landing, Recalled};

/// What was done before and need not be done again.
pub trait Memory: Send + Sync + fmt::Debug {
    /// The fleet is about to work through these todos.
    fn begin<'a>(&'a self, _todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// What this todo brought, if it need not be done again. It is ready, and asked about once.
    fn recall<'a>(&'a self, _todo: &'a Todo) -> BoxFuture<'a, Option<Brought>> {
        Box::pin(async { None })
    }

    /// The todo is done and brought this. A new owner tells of those that were done before it came.
    fn keep<'a>(&'a self, _todo: &'a Todo, _brought: &'a Brought) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// The fleet has done what it can, or was stopped; its work is there.
    fn finish(&self, _landing: Landing) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl Memory for FleetMemory {
    fn begin<'a>(&'a self, todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(FleetMemory::begin(self, todos))
    }

    fn recall<'a>(&'a self, todo: &'a Todo) -> BoxFuture<'a, Option<Brought>> {
        Box::pin(async move {
            match FleetMemory::recall(self, todo).await {
                Recalled::Reused { result, work } => Some(Brought { result, work }),
                Recalled::Again(_why) => None,
            }
        })
    }

    fn keep<'a>(&'a self, todo: &'a Todo, brought: &'a Brought) -> BoxFuture<'a, ()> {
        Box::pin(FleetMemory::keep(self, todo, &brought.result, brought.work.as_deref()))
    }

    fn finish(&self, landing: Landing) -> BoxFuture<'_, ()> {
        Box::pin(FleetMemory::finish(self, landing))
    }
}

/// Where workers work.
pub trait Ground: Send + Sync + fmt::Debug {
    /// The place of the worker that does this todo; the session's own folder when there is none. Says in words why it
    /// cannot have the one it needs.
    fn place<'a>(&'a self, terms: &'a FleetTerms, _todo: &'a Todo) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        let own = terms.isolated.then_some(Isolation::Worktree { base: None, dirty: terms.dirty });
        Box::pin(async move { Ok(own) })
    }
}

/// What becomes of the work when everything is done that could be.
pub trait Harvest: Send + Sync + fmt::Debug {
    /// Brings the work of these todos together; they come in the order that they were written.
    fn gather<'a>(&'a self, _terms: &'a FleetTerms, _done: &'a [Done]) -> BoxFuture<'a, Harvested> {
        Box::pin(async { Harvested::in_place() })
    }
}

/// A todo that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The todo.
    pub todo: Todo,
    /// The commit that holds its work, if it was done in a checkout of its own.
    pub work: Option<String>,
}

/// What became of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harvested {
    /// Where it is.
    pub landing: Landing,
    /// The todos whose work is not there, each with why.
    pub short: Vec<(TodoId, String)>,
}

impl Harvested {
    /// All of it is in the workspace.
    pub fn in_place() -> Harvested {
        Harvested { landing: Landing::InPlace, short: Vec::new() }
    }
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

impl Aids {
    /// Nothing is remembered; the session places workers and merges what they bring.
    pub fn merged_by(session: &Session) -> Aids {
        Aids { ground: session.merging(), harvest: session.merging(), ..Aids::default() }
    }
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
