//! The services of a fleet: the cache of earlier results, and the merger of its work.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::{DEFAULT_AGENT, FleetConfig, Hinted, MergeDestination, MergeSummary, ReusedResult, Todo, TodoId};
use runtime::{FleetSession, ResultReuse};

use crate::merging::FleetMerger;
use crate::result_cache::{
    CacheLookup, CacheMissReason, CacheScope, CommitPinner, FleetResultCache, NoCommits, RepositoryCommits,
    WorkLocation, excluded_paths,
};

/// A todo that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinishedTodo {
    pub(crate) todo: Todo,
    /// The commit that holds its work, if it was done in its own checkout.
    pub(crate) commit: Option<String>,
}

/// What the result cache says about a ready todo.
#[derive(Debug)]
pub(crate) enum TodoLookup {
    /// It need not be done again.
    Reuse(ReusedResult),
    /// It must be done; again, for this reason, if an earlier fleet did it.
    Do(Option<String>),
}

/// The collected work of a fleet.
#[derive(Debug)]
pub(crate) struct CollectedWork {
    pub(crate) location: WorkLocation,
    /// The todos whose work is missing, each with the reason.
    pub(crate) missing: Vec<(TodoId, String)>,
    /// How the work of isolated workers was merged.
    pub(crate) summary: Option<MergeSummary>,
}

/// The services of a fleet.
#[derive(Debug, Clone)]
pub(crate) struct FleetServices {
    /// `None` if the fleet ignores earlier results.
    pub(crate) cache: Option<Arc<FleetResultCache>>,
    /// Provides the workspaces of workers, and merges their work.
    pub(crate) merger: Arc<FleetMerger>,
}

impl FleetServices {
    /// The services of a fleet with this configuration. The cache ignores changes to the excluded files.
    pub(crate) fn new(
        session: &FleetSession,
        merger: Arc<FleetMerger>,
        config: &FleetConfig,
        reuse: ResultReuse,
        excluded: Vec<PathBuf>,
    ) -> FleetServices {
        let cache = match reuse {
            ResultReuse::Reuse => Some(Arc::new(open_cache(session, config, excluded))),
            ResultReuse::DoAll => None,
        };
        FleetServices { cache, merger }
    }

    /// Gives the cache all todos, before the fleet works through them.
    pub(crate) async fn begin(&self, todos: &[Todo]) {
        if let Some(cache) = &self.cache {
            cache.begin(todos).await;
        }
    }

    /// Whether a ready todo must be done.
    pub(crate) async fn lookup(&self, todo: &Todo) -> TodoLookup {
        let Some(cache) = &self.cache else { return TodoLookup::Do(None) };
        match cache.lookup(todo).await {
            CacheLookup::Hit { result, work } => TodoLookup::Reuse(ReusedResult { result, commit: work }),
            CacheLookup::Miss(CacheMissReason::NeverDone | CacheMissReason::CacheDisabled) => TodoLookup::Do(None),
            CacheLookup::Miss(why) => TodoLookup::Do(Some(why.to_string())),
        }
    }

    /// Stores the result of a finished todo. A new owner process also stores those that were finished before.
    pub(crate) async fn store(&self, todo: &Todo, result: &ReusedResult) {
        if let Some(cache) = &self.cache {
            cache.store(todo, &result.result, result.commit.as_deref()).await;
        }
    }

    /// Tells the cache that the run has ended, with the fleet's work at this location.
    pub(crate) async fn finish(&self, location: WorkLocation) {
        if let Some(cache) = &self.cache {
            cache.finish(location).await;
        }
    }

    /// Collects the work of these todos, which are in the order in which they were added.
    pub(crate) async fn collect(&self, config: &FleetConfig, done: &[FinishedTodo]) -> CollectedWork {
        if !config.isolated {
            return CollectedWork { location: WorkLocation::InWorkspace, missing: Vec::new(), summary: None };
        }
        match self.merger.collect(config, done).await {
            Ok(summary) => CollectedWork {
                location: work_location(&summary.destination),
                missing: summary.not_merged(),
                summary: Some(summary),
            },
            // Which work is in the result is unknown, so none counts as merged.
            Err(error) => {
                let why = format!("it was not merged: {}", error.in_one_line());
                let missing = done.iter().map(|done| (done.todo.id.clone(), why.clone())).collect();
                CollectedWork { location: WorkLocation::InCommits, missing, summary: None }
            }
        }
    }
}

/// Where the merged work is.
fn work_location(destination: &MergeDestination) -> WorkLocation {
    match destination {
        MergeDestination::NoChange | MergeDestination::Landed { .. } => WorkLocation::InWorkspace,
        MergeDestination::Branch { .. } | MergeDestination::RefOnly { .. } => WorkLocation::InCommits,
    }
}

fn open_cache(session: &FleetSession, config: &FleetConfig, excluded: Vec<PathBuf>) -> FleetResultCache {
    let plan = config.plan.as_deref().filter(|plan| !plan.is_empty()).map(Path::new);
    let scope = CacheScope {
        home: session.home().clone(),
        cwd: session.cwd().to_owned(),
        excluded: [excluded_paths(session.home(), plan), excluded].concat(),
        clock: Arc::clone(session.clock()),
        definitions: Arc::clone(session.definitions()),
        models: Arc::clone(session.models()),
        model: session.model_spec().to_owned(),
        effort: session.effort(),
        default_agent: config.agent.clone().unwrap_or_else(|| DEFAULT_AGENT.into()),
    };
    // If workers share the workspace, results in commits cannot be reused, because nothing merges them.
    let commits: Arc<dyn CommitPinner> = if config.isolated {
        Arc::new(RepositoryCommits::new(session.git_in_cwd(), session.id()))
    } else {
        Arc::new(NoCommits)
    };
    FleetResultCache::new(scope, commits)
}
