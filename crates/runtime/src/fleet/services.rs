//! The services that a fleet uses: the result cache, the workspaces of its workers, and the collection of their work.

use std::fmt;
use std::sync::Arc;

use protocol::{FleetConfig, Isolation, ReusedResult, Todo, TodoId};
use tools::BoxFuture;

use crate::Session;
use crate::result_cache::{CacheLookup, FleetResultCache, WorkLocation};

/// Results of todos that need not be done again.
pub trait TodoResultCache: Send + Sync + fmt::Debug {
    /// Called before the fleet works through these todos.
    fn begin<'a>(&'a self, _todos: &'a [Todo]) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Returns the result of this todo, if it need not be done again. Called once, when the todo is ready.
    fn lookup<'a>(&'a self, _todo: &'a Todo) -> BoxFuture<'a, Option<ReusedResult>> {
        Box::pin(async { None })
    }

    /// Stores the result of a finished todo. A new owner process also stores those that were finished before.
    fn store<'a>(&'a self, _todo: &'a Todo, _result: &'a ReusedResult) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Called when the fleet has ended; its work is at this location.
    fn finish(&self, _location: WorkLocation) -> BoxFuture<'_, ()> {
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

    fn store<'a>(&'a self, todo: &'a Todo, result: &'a ReusedResult) -> BoxFuture<'a, ()> {
        Box::pin(FleetResultCache::store(self, todo, &result.result, result.commit.as_deref()))
    }

    fn finish(&self, location: WorkLocation) -> BoxFuture<'_, ()> {
        Box::pin(FleetResultCache::finish(self, location))
    }
}

/// Provides the workspaces of workers.
pub trait WorkspaceProvider: Send + Sync + fmt::Debug {
    /// The workspace of this todo's worker; `None` for the session's folder. The error says why it cannot have the one
    /// that it needs.
    fn workspace_for<'a>(
        &'a self,
        config: &'a FleetConfig,
        _todo: &'a Todo,
    ) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        let isolation = config.isolated.then_some(Isolation::Worktree { base: None, dirty: config.dirty });
        Box::pin(async move { Ok(isolation) })
    }
}

/// Collects the work when the fleet has done what it could.
pub trait Collector: Send + Sync + fmt::Debug {
    /// Collects the work of these todos, which are in the order in which they were added.
    fn collect<'a>(&'a self, _config: &'a FleetConfig, _done: &'a [FinishedTodo]) -> BoxFuture<'a, CollectedWork> {
        Box::pin(async { CollectedWork::in_place() })
    }
}

/// A todo that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedTodo {
    /// The todo.
    pub todo: Todo,
    /// The commit that holds its work, if it was done in its own checkout.
    pub commit: Option<String>,
}

/// The collected work of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedWork {
    /// Where it is.
    pub location: WorkLocation,
    /// The todos whose work is missing, each with the reason.
    pub missing: Vec<(TodoId, String)>,
}

impl CollectedWork {
    /// All of it is in the workspace.
    pub fn in_place() -> CollectedWork {
        CollectedWork { location: WorkLocation::InWorkspace, missing: Vec::new() }
    }
}

/// The services that a fleet uses.
#[derive(Debug, Clone)]
pub struct FleetServices {
    /// The result cache.
    pub result_cache: Arc<dyn TodoResultCache>,
    /// Provides the workspaces of workers.
    pub workspaces: Arc<dyn WorkspaceProvider>,
    /// Collects their work.
    pub collector: Arc<dyn Collector>,
}

impl FleetServices {
    /// Services without a result cache, in which the session places workers and merges their work.
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

/// No result cache, workspaces by the fleet's settings, and work stays where it was done.
#[derive(Debug)]
struct DefaultFleetServices;

impl TodoResultCache for DefaultFleetServices {}
impl WorkspaceProvider for DefaultFleetServices {}
impl Collector for DefaultFleetServices {}
