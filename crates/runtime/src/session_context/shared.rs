//! The context of a session: its four parts, and what decides for the whole session.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use host::{Guardian, Workspace};
use policy::Policy;
use protocol::{SessionId, TaskId};

use super::{AgentCatalog, SessionFacts, SessionLog, Workplace};
use crate::fleet::FleetControl;
use crate::governor::Governor;
use crate::grants::Grants;
use crate::hooks::SessionHooks;
use crate::instructions::Instructions;
use crate::long_calls::MovedCalls;
use crate::prepared_agent::{PrepareAgentError, PreparedAgent};
use crate::roster::Roster;
use crate::run_requests::{CheckoutOwner, TaskProfile};
use crate::settings::SessionSettings;
use crate::shared_lists::SharedList;
use crate::spools::Spools;
use crate::sql_tables::SessionTables;
use crate::task_workspaces::{TaskWorkspace, TaskWorkspaceError};
use crate::todos::TodoSyncHandle;
use crate::watchdog::WatchedRuns;

/// What the tasks of a session share.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) facts: Arc<SessionFacts>,
    pub(crate) workplace: Arc<Workplace>,
    pub(crate) catalog: Arc<AgentCatalog>,
    pub(crate) log: SessionLog,
    pub(crate) governor: Governor,
    pub(crate) session_hooks: SessionHooks,
    pub(crate) tables: SessionTables,
    /// Storage for the output of background commands.
    pub(crate) spools: Arc<Spools>,
    /// Tells the todo sync to read the changes to the todo tables.
    pub(crate) todo_sync: TodoSyncHandle,
    /// Starts and resumes the session's fleets.
    pub(crate) fleet: FleetControl,
    /// The list that the session's agents share.
    pub(crate) shared_list: Arc<SharedList>,
    /// The runs that the watchdog checks.
    pub(crate) watched_runs: Arc<WatchedRuns>,
    /// Calls that have moved to the background, until their tasks take them over.
    pub(crate) moved_calls: MovedCalls,
    /// Tasks whose conversation the user wants compacted.
    requested_compactions: Mutex<HashSet<TaskId>>,
}

/// What a session has before its context is built.
#[derive(Debug)]
pub(crate) struct OpenedParts {
    pub(crate) session: SessionId,
    pub(crate) guardian: Guardian,
    pub(crate) workspace: Workspace,
    pub(crate) instructions: Instructions,
    pub(crate) grants: Arc<Grants>,
    pub(crate) roster: Arc<Roster>,
    pub(crate) todo_sync: TodoSyncHandle,
    pub(crate) fleet: FleetControl,
}

impl SessionContext {
    pub(crate) fn new(settings: &SessionSettings, parts: OpenedParts) -> SessionContext {
        let OpenedParts { session, guardian, workspace, instructions, grants, roster, todo_sync, fleet } = parts;
        let facts = Arc::new(SessionFacts::new(settings, session));
        SessionContext {
            workplace: Arc::new(Workplace::new(settings, Arc::clone(&facts), (guardian.clone(), workspace), grants)),
            catalog: Arc::new(AgentCatalog::new(settings, instructions)),
            log: SessionLog::new(Arc::clone(&facts), roster),
            facts,
            governor: Governor::open(settings.home.clone(), Arc::clone(&settings.clock)),
            session_hooks: SessionHooks::new(settings, guardian),
            tables: SessionTables::new(settings.home.session_db(session), todo_sync.clone()),
            spools: Arc::clone(&settings.spools),
            todo_sync,
            fleet,
            shared_list: Arc::new(SharedList::new(settings, session)),
            watched_runs: Arc::default(),
            moved_calls: MovedCalls::default(),
            requested_compactions: Mutex::default(),
        }
    }

    /// The prepared agent of a task.
    pub(crate) fn prepared_agent(&self, task: TaskId) -> Result<Arc<PreparedAgent>, PrepareAgentError> {
        let profile = TaskProfile::of(self, task).map_err(|_unknown| PrepareAgentError::UnknownTask(task))?;
        let workspace = self.workplace.task_workspaces.workspace(profile.checkout.as_ref())?;
        self.catalog.prepared_agent(&self.facts, &profile, workspace)
    }

    /// The workspace of a task.
    pub(crate) fn task_workspace(&self, task: TaskId) -> Result<Arc<TaskWorkspace>, TaskWorkspaceError> {
        self.workplace.task_workspaces.workspace(CheckoutOwner::of(self, task).as_ref())
    }

    /// The current policy, including the grants of the session.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.workplace.grants.policy()
    }

    /// Requests the compaction of a task's conversation before its next turn.
    pub(crate) fn request_compaction(&self, task: TaskId) {
        self.requested_compactions.lock().unwrap_or_else(PoisonError::into_inner).insert(task);
    }

    /// Whether a compaction is requested; clears the request.
    pub(crate) fn take_compaction_request(&self, task: TaskId) -> bool {
        self.requested_compactions.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }
}
