//! What a fleet asks of others: what was done before, where workers work, and what becomes of their work.

use std::fmt;
use std::sync::Arc;

use protocol::{FleetConfig, Isolation, ReusedResult, Todo, TodoId};
use tools::BoxFuture;

use crate::Session;
use crate::result_cache::{CacheLookup, FleetResultCache, WorkLocation};

/// What was done before and need not be done again.
pub trait TodoResultCache: Send + Sync + fmt::Debug {
    /// The fleet is about to work through these todos.
    fn begin<'a>(&'a self, _todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// What this todo brought, if it need not be done again. It is ready, and asked about once.
    fn lookup<'a>(&'a self, _todo: &'a Todo) -> BoxFuture<'a, Option<ReusedResult>> {
        Box::pin(async { None })
    }

    /// The todo is done and brought this. A new owner tells of those that were done before it came.
    fn store<'a>(&'a self, _todo: &'a Todo, _brought: &'a ReusedResult) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// The fleet has done what it can, or was stopped; its work is there.
    fn finish(&self, _landing: WorkLocation) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl TodoResultCache for FleetResultCache {
    fn begin<'a>(&'a self, todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(FleetResultCache::begin(self, todos))
    }

    fn lookup<'a>(&'a self, todo: &'a Todo) -> BoxFuture<'a, Option<ReusedResult>> {
        Box::pin(async move {
            match FleetResultCache::lookup(self, todo).await {
                CacheLookup::Hit { result, work } => Some(ReusedResult { result, commit: work }),
                CacheLookup::Miss(_why) => None,
            }
        })
    }

    fn store<'a>(&'a self, todo: &'a Todo, brought: &'a ReusedResult) -> BoxFuture<'a, ()> {
        Box::pin(FleetResultCache::store(self, todo, &brought.result, brought.commit.as_deref()))
    }

    fn finish(&self, landing: WorkLocation) -> BoxFuture<'_, ()> {
        Box::pin(FleetResultCache::finish(self, landing))
    }
}

/// Where workers work.
pub trait WorkspaceProvider: Send + Sync + fmt::Debug {
    /// The place of the worker that does this todo; the session's own folder when there is none. Says in words why it
    /// cannot have the one it needs.
    fn workspace_for<'a>(
        &'a self,
        terms: &'a FleetConfig,
        _todo: &'a Todo,
    ) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        let own = terms.isolated.then_some(Isolation::Worktree { base: None, dirty: terms.dirty });
        Box::pin(async move { Ok(own) })
    }
}

/// What becomes of the work when everything is done that could be.
pub trait Collector: Send + Sync + fmt::Debug {
    /// Brings the work of these todos together; they come in the order that they were written.
    fn collect<'a>(&'a self, _terms: &'a FleetConfig, _done: &'a [FinishedTodo]) -> BoxFuture<'a, CollectedWork> {
        Box::pin(async { CollectedWork::in_place() })
    }
}

/// A todo that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedTodo {
    /// The todo.
    pub todo: Todo,
    /// The commit that holds its work, if it was done in a checkout of its own.
    pub work: Option<String>,
}

/// What became of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedWork {
    /// Where it is.
    pub landing: WorkLocation,
    /// The todos whose work is not there, each with why.
    pub missing: Vec<(TodoId, String)>,
}

impl CollectedWork {
    /// All of it is in the workspace.
    pub fn in_place() -> CollectedWork {
        CollectedWork { landing: WorkLocation::InWorkspace, missing: Vec::new() }
    }
}

/// What a fleet is helped by.
#[derive(Debug, Clone)]
pub struct FleetServices {
    /// What was done before.
    pub result_cache: Arc<dyn TodoResultCache>,
    /// Where workers work.
    pub workspaces: Arc<dyn WorkspaceProvider>,
    /// What becomes of their work.
    pub collector: Arc<dyn Collector>,
}

impl FleetServices {
    /// Nothing is remembered; the session places workers and merges what they bring.
    pub fn merged_by(session: &Session) -> FleetServices {
        FleetServices { workspaces: session.merger(), collector: session.merger(), ..FleetServices::default() }
    }
}

impl Default for FleetServices {
    fn default() -> Self {
        FleetServices {
            result_cache: Arc::new(DefaultFleetServices),
            workspaces: Arc::new(DefaultFleetServices),
            collector: Arc::new(DefaultFleetServices),
        }
    }
}

/// Nothing is remembered, places are as the terms say, and work stays where it was done.
#[derive(Debug)]
struct DefaultFleetServices;

impl TodoResultCache for DefaultFleetServices {}
impl WorkspaceProvider for DefaultFleetServices {}
impl Collector for DefaultFleetServices {}
