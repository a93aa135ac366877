//! The context of a session: its four parts, and what decides for the whole session.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use host::{Guardian, Workspace};
use policy::Policy;
use protocol::{Activation, SessionId, TaskId};
use store::StoreError;
use tools::FileStamps;

use super::{AgentCatalog, SessionFacts, SessionLog, Workplace};
use crate::conversation::{Conversation, ResultFormatter};
use crate::governor::Governor;
use crate::grants::Grants;
use crate::hooks::SessionHooks;
use crate::instructions::Instructions;
use crate::roster::Roster;
use crate::settings::SessionSettings;
use crate::shared_lists::SharedList;
use crate::sql_tables::SessionTables;
use crate::subagents;
use crate::todos::TodoSyncHandle;
use crate::watchdog::WatchedRuns;

/// What the tasks of a session share.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) facts: SessionFacts,
    pub(crate) workplace: Workplace,
    pub(crate) catalog: AgentCatalog,
    pub(crate) log: SessionLog,
    pub(crate) grants: Arc<Grants>,
    pub(crate) governor: Governor,
    pub(crate) session_hooks: SessionHooks,
    pub(crate) tables: SessionTables,
    /// Tells the todo sync to read the changes to the todo tables.
    pub(crate) todo_sync: TodoSyncHandle,
    /// The list that the session's agents share.
    pub(crate) shared_list: Arc<SharedList>,
    /// The runs that the watchdog checks.
    pub(crate) watched_runs: Arc<WatchedRuns>,
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
}

impl SessionContext {
    pub(crate) fn new(settings: &SessionSettings, parts: OpenedParts) -> SessionContext {
        let OpenedParts { session, guardian, workspace, instructions, grants, roster, todo_sync } = parts;
        SessionContext {
            facts: SessionFacts::new(settings, session),
            workplace: Workplace::new(settings, guardian.clone(), workspace),
            catalog: AgentCatalog::new(settings, instructions),
            log: SessionLog::new(&settings.home, session, roster),
            grants,
            governor: Governor::open(settings.home.clone(), Arc::clone(&settings.clock)),
            session_hooks: SessionHooks::new(settings, guardian),
            tables: SessionTables::new(settings.home.session_db(session), todo_sync.clone()),
            todo_sync,
            shared_list: Arc::new(SharedList::new(settings, session)),
            watched_runs: Arc::default(),
            requested_compactions: Mutex::default(),
        }
    }

    /// A task's conversation, rebuilt from the log.
    pub(crate) fn conversation(&self, task: TaskId) -> Result<Conversation, StoreError> {
        let mut conversation = Conversation::default();
        for envelope in self.log.task_events_after(task, 0)? {
            conversation.apply_event(&envelope, self);
        }
        Ok(conversation)
    }

    /// The current policy, including the grants of the session.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.grants.policy()
    }

    /// The files that one agent has read, in all its activations in this process.
    pub(crate) fn stamps(&self, task: TaskId) -> Arc<FileStamps> {
        self.workplace.stamps(task, |task| self.log.roster.is_recent(task))
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

impl ResultFormatter for SessionContext {
    fn format_result(&self, task: TaskId, activation: Activation) -> String {
        subagents::activation_result(self, task, activation)
            .unwrap_or_else(|| format!("{} has ended", self.log.roster.path(task)))
    }

    fn format_message(&self, from: TaskId, text: &str) -> String {
        subagents::message_text(self, from, text)
    }
}
