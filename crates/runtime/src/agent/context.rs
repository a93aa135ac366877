//! Services shared by all runs of a session.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use host::Guardian;
use net::fetch::PageFetcher;
use policy::Policy;
use protocol::{Activation, Envelope, TaskId};
use store::{SessionReader, StoreError};
use tools::{FileStamps, Tool};

use super::conversation_cache::ConversationCache;
use crate::agent::Deadline;
use crate::bus::EventBus;
use crate::conversation::{Conversation, ResultFormatter};
use crate::expectations::FileSnapshot;
use crate::governor::Governor;
use crate::grants::Grants;
use crate::hooks::SessionHooks;
use crate::instructions::Instructions;
use crate::prepared_agent::PreparedAgents;
use crate::redact::Redactor;
use crate::roster::{Roster, TaskTrace};
use crate::session_model::AddedModels;
use crate::settings::SessionSettings;
use crate::shared_lists::SharedList;
use crate::sql_tables::SessionTables;
use crate::subagents;
use crate::task_workspaces::TaskWorkspaces;
use crate::todos::TodoSyncHandle;
use crate::watchdog::WatchedRuns;

/// Services shared by all runs of a session.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) settings: SessionSettings,
    pub(crate) session: protocol::SessionId,
    /// The user's instruction files.
    pub(crate) instructions: Instructions,
    /// A summary of every task.
    pub(crate) roster: Arc<Roster>,
    pub(crate) prepared_agents: PreparedAgents,
    /// Models that were added while the session ran.
    pub(crate) added_models: AddedModels,
    /// Whether the user can be asked.
    pub(crate) can_ask_user: bool,
    /// Tools that are not offered to every agent. A call to one of them that started under an earlier owner of the
    /// session continues even if this owner does not offer it.
    pub(crate) tools_for_started_calls: Vec<Arc<dyn Tool>>,
    /// The workspaces of tasks.
    pub(crate) task_workspaces: TaskWorkspaces,
    pub(crate) guardian: Guardian,
    pub(crate) tables: SessionTables,
    /// Tells the todo sync to read the changes to the todo tables.
    pub(crate) todo_sync: TodoSyncHandle,
    pub(crate) fetcher: PageFetcher,
    pub(crate) deadline: Deadline,
    pub(crate) grants: Arc<Grants>,
    pub(crate) redactor: Redactor,
    pub(crate) governor: Governor,
    /// The hooks of the session.
    pub(crate) session_hooks: SessionHooks,
    pub(crate) bus: EventBus,
    /// The files that each agent has read, as it last saw them.
    pub(crate) stamps: Mutex<HashMap<TaskId, Arc<FileStamps>>>,
    /// The list that the session's agents share.
    pub(crate) shared_list: Arc<SharedList>,
    /// The runs that the watchdog checks.
    pub(crate) watched_runs: Arc<WatchedRuns>,
    /// Tasks whose conversation the user wants compacted.
    pub(crate) requested_compactions: Mutex<HashSet<TaskId>>,
    /// Files that tasks are expected to change, as they were when this process first ran the task.
    pub(crate) expected_file_snapshots: Mutex<HashMap<TaskId, Arc<FileSnapshot>>>,
    /// Folders with too many files to detect what a command changed.
    pub(crate) large_folders: Mutex<HashSet<PathBuf>>,
    /// A reader that stays open, since every activation starts with a query of the log.
    pub(crate) log_reader: Mutex<Option<SessionReader>>,
    /// The conversations of idle agents.
    pub(crate) conversations: ConversationCache,
}

impl SessionContext {
    pub(crate) fn reader(&self) -> Result<SessionReader, StoreError> {
        SessionReader::open(&self.settings.home, self.session)
    }

    /// A task's conversation, rebuilt from the log.
    pub(crate) fn conversation(&self, task: TaskId) -> Result<Conversation, StoreError> {
        let mut conversation = Conversation::default();
        for envelope in self.task_log_after(task, 0)? {
            conversation.apply_event(&envelope, self);
        }
        Ok(conversation)
    }

    /// The events of a task after `seq`.
    pub(super) fn task_log_after(&self, task: TaskId, seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.query_log(|reader| reader.task_events_after(task, seq))
    }

    fn query_log<T>(&self, query: impl FnOnce(&SessionReader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut kept_reader = self.log_reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match kept_reader.take() {
            Some(reader) => reader,
            None => self.reader()?,
        };
        // A reader that failed is dropped.
        let result = query(&reader)?;
        *kept_reader = Some(reader);
        Ok(result)
    }

    /// The text and evidence of a task, from the log if the roster does not hold them any more.
    pub(crate) fn task_trace(&self, task: TaskId) -> Arc<TaskTrace> {
        if let Some(trace) = self.roster.trace(task) {
            return trace;
        }
        match self.query_log(|reader| reader.task_outcome_events(task)) {
            Ok(log) => Arc::new(TaskTrace::from_log(&log)),
            Err(error) => {
                tracing::warn!(%task, %error, "the text and evidence of a task cannot be read");
                Arc::default()
            }
        }
    }

    /// The current policy, including the grants of the session.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.grants.policy()
    }

    /// Requests the compaction of a task's conversation before its next turn.
    pub(crate) fn request_compaction(&self, task: TaskId) {
        self.requested_compactions.lock().unwrap_or_else(PoisonError::into_inner).insert(task);
    }

    /// Whether a compaction is requested; clears the request.
    pub(crate) fn take_compaction_request(&self, task: TaskId) -> bool {
        self.requested_compactions.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }

    /// Whether there is a snapshot of the files that a task is expected to change.
    pub(crate) fn has_file_snapshot(&self, task: TaskId) -> bool {
        self.file_snapshot(task).is_some()
    }

    /// The snapshot of the files that a task is expected to change.
    pub(crate) fn file_snapshot(&self, task: TaskId) -> Option<Arc<FileSnapshot>> {
        self.expected_file_snapshots.lock().unwrap_or_else(PoisonError::into_inner).get(&task).cloned()
    }

    /// Keeps the snapshot taken before the task begins.
    pub(crate) fn keep_file_snapshot(&self, task: TaskId, snapshot: FileSnapshot) {
        let mut snapshots = self.expected_file_snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.evict_old(&mut snapshots);
        snapshots.insert(task, Arc::new(snapshot));
    }

    /// Takes a snapshot of all files of a folder; returns nothing for a folder with too many files.
    pub(crate) async fn snapshot_folder(self: &Arc<Self>, folder: PathBuf) -> Option<FileSnapshot> {
        if self.large_folders.lock().unwrap_or_else(PoisonError::into_inner).contains(&folder) {
            return None;
        }
        let scanned = folder.clone();
        let snapshot = tokio::task::spawn_blocking(move || FileSnapshot::of_small_folder(&scanned)).await.ok()?;
        if snapshot.is_none() {
            self.large_folders.lock().unwrap_or_else(PoisonError::into_inner).insert(folder);
        }
        snapshot
    }

    /// The files that one agent has read, in all its activations in this process. Files that only
    /// another agent has read do not count.
    pub(crate) fn stamps(&self, task: TaskId) -> Arc<FileStamps> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        self.evict_old(&mut stamps);
        Arc::clone(stamps.entry(task).or_default())
    }

    /// Before a full map grows, removes the entries of tasks that have long been idle. If such a task runs again, it
    /// starts without its entry, as it would in a new process.
    fn evict_old<T>(&self, entries: &mut HashMap<TaskId, T>) {
        if entries.len() == entries.capacity() {
            entries.retain(|task, _| self.roster.is_recent(*task));
        }
    }
}

impl ResultFormatter for SessionContext {
    fn format_result(&self, task: TaskId, activation: Activation) -> String {
        subagents::activation_result(self, task, activation)
            .unwrap_or_else(|| format!("{} has ended", self.roster.path(task)))
    }

    fn format_message(&self, from: TaskId, text: &str) -> String {
        subagents::message_text(self, from, text)
    }
}
