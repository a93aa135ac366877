//! What every run of a session works with.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use host::Guardian;
use kernel::{BoundaryPoint, RunEnding, RunUpdate};
use net::fetch::PageFetcher;
use policy::Policy;
use protocol::{Activation, Envelope, FailKind, TaskId, TaskType};
use store::{SessionReader, StoreError};
use tools::{FileStamps, Tool};

use super::conversation_cache::ConversationCache;
use crate::agent::{AgentRun, Deadline};
use crate::background_commands;
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
use crate::supervisor::{ActivationRunner, RunLink};
use crate::task_workspaces::{self, TaskWorkspaces};
use crate::todos::TodoSyncHandle;
use crate::watchdog::WatchedRuns;

/// What every run of a session works with.
#[derive(Debug)]
pub(crate) struct SessionContext {
    pub(crate) settings: SessionSettings,
    pub(crate) session: protocol::SessionId,
    /// The user's instruction files.
    pub(crate) instructions: Instructions,
    /// What every task is and did.
    pub(crate) roster: Arc<Roster>,
    pub(crate) prepared_agents: PreparedAgents,
    /// The models that the session was given while it ran.
    pub(crate) added_models: AddedModels,
    /// Whether somebody may answer a question.
    pub(crate) asks_user: bool,
    /// Tools that are not offered: with them goes on what began under an owner that offered them.
    pub(crate) withheld_tools: Vec<Arc<dyn Tool>>,
    /// Where tasks work.
    pub(crate) task_workspaces: TaskWorkspaces,
    pub(crate) guardian: Guardian,
    pub(crate) tables: SessionTables,
    /// The way to have changes of the todos taken over.
    pub(crate) todos: TodoSyncHandle,
    pub(crate) fetcher: PageFetcher,
    pub(crate) deadline: Deadline,
    pub(crate) grants: Arc<Grants>,
    pub(crate) redactor: Redactor,
    pub(crate) governor: Governor,
    /// Who is told what happens.
    pub(crate) session_hooks: SessionHooks,
    pub(crate) bus: EventBus,
    pub(crate) stamps: Mutex<HashMap<TaskId, Arc<FileStamps>>>,
    /// The list that the session's agents share.
    pub(crate) shared_list: Arc<SharedList>,
    /// The runs that are watched over.
    pub(crate) watched_runs: Arc<WatchedRuns>,
    /// Tasks whose conversation a person wants compacted.
    pub(crate) wanted_compactions: Mutex<HashSet<TaskId>>,
    /// What files looked like that tasks are to change, when this process first ran the task.
    pub(crate) snapshots: Mutex<HashMap<TaskId, Arc<FileSnapshot>>>,
    /// Folders in which there are too many files to look for what a command changed.
    pub(crate) large_folders: Mutex<HashSet<PathBuf>>,
    /// A reader that stays open: every activation begins with one look at the log.
    pub(crate) log_reader: Mutex<Option<SessionReader>>,
    /// What agents that rest go on with.
    pub(crate) conversations: ConversationCache,
}

/// A context that runs can be performed with.
#[derive(Debug)]
pub(crate) struct RunPerformer(pub(crate) Arc<SessionContext>);

impl ActivationRunner for RunPerformer {
    fn perform(&self, link: RunLink, kind: TaskType) -> tools::BoxFuture<'static, ()> {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            let stop = link.stop.clone();
            let run = async move {
                match kind {
                    TaskType::Main | TaskType::Agent => run_agent(context, link).await,
                    TaskType::Shell => background_commands::run_background_command(context, link).await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = run => {}
            }
        })
    }
}

/// Runs an agent, or ends it if what it works with cannot be had.
async fn run_agent(context: Arc<SessionContext>, link: RunLink) {
    let _watched = context.watched_runs.watch(&link);
    let prepared = match task_workspaces::ensure_workspace(&context, &link).await {
        Ok(()) => context.prepared_agent(link.run.task).map_err(|message| (FailKind::Model, message)),
        Err(unplaced) => Err((FailKind::Internal, unplaced.to_string())),
    };
    match prepared {
        Ok(prepared) => AgentRun::new(context, link, prepared).run().await,
        Err((kind, message)) => {
            let ending = RunEnding::Failed { kind, message };
            // Mail that is not heard would wake the task again, for the same end.
            for report in
                [RunUpdate::Boundary(BoundaryPoint::Between), RunUpdate::Ended { ending, text: String::new() }]
            {
                if let Err(rejected) = link.supervisor.report(link.run, report).await {
                    tracing::info!(run = %link.run, %rejected, "the run stops");
                }
            }
        }
    }
}

impl SessionContext {
    pub(crate) fn reader(&self) -> Result<SessionReader, StoreError> {
        SessionReader::open(&self.settings.home, self.session)
    }

    /// A task's conversation as the log has it.
    pub(crate) fn conversation(&self, task: TaskId) -> Result<Conversation, StoreError> {
        let mut conversation = Conversation::default();
        for envelope in self.task_log_after(task, 0)? {
            conversation.read(&envelope, self);
        }
        Ok(conversation)
    }

    /// The events of a task after `seq`.
    pub(super) fn task_log_after(&self, task: TaskId, seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.query_log(|reader| reader.task_events_after(task, seq))
    }

    fn query_log<T>(&self, ask: impl FnOnce(&SessionReader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut open = self.log_reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match open.take() {
            Some(reader) => reader,
            None => self.reader()?,
        };
        // One that failed is not asked again.
        let told = ask(&reader)?;
        *open = Some(reader);
        Ok(told)
    }

    /// What a task said and left behind; from the log, if that is not held any more.
    pub(crate) fn task_trace(&self, task: TaskId) -> Arc<TaskTrace> {
        if let Some(words) = self.roster.trace(task) {
            return words;
        }
        match self.query_log(|reader| reader.task_outcome_events(task)) {
            Ok(log) => Arc::new(TaskTrace::from_log(&log)),
            Err(error) => {
                tracing::warn!(%task, %error, "what a task said cannot be read");
                Arc::default()
            }
        }
    }

    /// What calls may do now, with what was granted since the session began.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.grants.policy()
    }

    /// Has a task's conversation compacted before its next turn.
    pub(crate) fn ask_compaction(&self, task: TaskId) {
        self.wanted_compactions.lock().unwrap_or_else(PoisonError::into_inner).insert(task);
    }

    /// Whether somebody asked for that; the wish is fulfilled then.
    pub(crate) fn take_compaction(&self, task: TaskId) -> bool {
        self.wanted_compactions.lock().unwrap_or_else(PoisonError::into_inner).remove(&task)
    }

    /// Whether it is known what files looked like that a task is to change.
    pub(crate) fn has_file_snapshot(&self, task: TaskId) -> bool {
        self.file_snapshot(task).is_some()
    }

    /// What files looked like that a task is to change.
    pub(crate) fn file_snapshot(&self, task: TaskId) -> Option<Arc<FileSnapshot>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner).get(&task).cloned()
    }

    /// Keeps what they look like before it begins.
    pub(crate) fn keep_file_snapshot(&self, task: TaskId, snapshot: FileSnapshot) {
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.evict_old(&mut snapshots);
        snapshots.insert(task, Arc::new(snapshot));
    }

    /// All files of a folder as they are; nothing where there are too many of them.
    pub(crate) async fn snapshot(self: &Arc<Self>, folder: PathBuf) -> Option<FileSnapshot> {
        if self.large_folders.lock().unwrap_or_else(PoisonError::into_inner).contains(&folder) {
            return None;
        }
        let looked = folder.clone();
        let snapshot = tokio::task::spawn_blocking(move || FileSnapshot::of_small_folder(&looked)).await.ok()?;
        if snapshot.is_none() {
            self.large_folders.lock().unwrap_or_else(PoisonError::into_inner).insert(folder);
        }
        snapshot
    }

    /// What one agent has read of the workspace, in all its activations here; what another has read does not let
    /// it write.
    pub(crate) fn stamps(&self, task: TaskId) -> Arc<FileStamps> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        self.evict_old(&mut stamps);
        Arc::clone(stamps.entry(task).or_default())
    }

    /// Makes room among what is held of tasks: those that have been at rest for long begin anew, as they would in
    /// another process.
    fn evict_old<T>(&self, held: &mut HashMap<TaskId, T>) {
        if held.len() == held.capacity() {
            held.retain(|task, _| self.roster.is_recent(*task));
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
