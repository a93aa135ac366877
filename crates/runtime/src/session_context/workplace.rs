//! Where agents work: their folders, the processes they start, the network, and what they have seen of their files.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use host::{Guardian, Workspace};
use net::fetch::{FetchLimits, PageFetcher};
use protocol::TaskId;
use tools::FileStamps;

use crate::expectations::FileSnapshot;
use crate::redact::Redactor;
use crate::settings::SessionSettings;
use crate::spools::Spools;
use crate::task_workspaces::{CommandEnv, TaskWorkspace, TaskWorkspaces};

/// Where the agents of this process work.
#[derive(Debug)]
pub(crate) struct Workplace {
    /// The workspaces of tasks.
    pub(crate) task_workspaces: TaskWorkspaces,
    /// Starts programs.
    pub(crate) guardian: Guardian,
    /// The complete environment of started programs.
    pub(crate) env: CommandEnv,
    pub(crate) fetcher: PageFetcher,
    /// Storage for the output of background commands.
    pub(crate) spools: Arc<Spools>,
    /// Removes secrets from everything that is written.
    pub(crate) redactor: Redactor,
    /// The files that each agent has read, as it last saw them.
    stamps: PerTask<FileStamps>,
    /// Files that tasks are expected to change, as they were when this process first ran the task.
    expected_files: PerTask<FileSnapshot>,
    /// Folders with too many files to detect what a command changed.
    large_folders: Mutex<HashSet<PathBuf>>,
}

/// A value for each task, in a map whose size is limited.
type PerTask<T> = Mutex<HashMap<TaskId, Arc<T>>>;

impl Workplace {
    pub(crate) fn new(settings: &SessionSettings, guardian: Guardian, workspace: Workspace) -> Workplace {
        Workplace {
            task_workspaces: TaskWorkspaces::new(TaskWorkspace::shared(workspace, settings.env.clone())),
            guardian,
            env: settings.env.clone(),
            fetcher: PageFetcher::new(settings.route.clone(), FetchLimits::default()),
            spools: Arc::clone(&settings.spools),
            redactor: Redactor::new(&settings.secrets),
            stamps: Mutex::default(),
            expected_files: Mutex::default(),
            large_folders: Mutex::default(),
        }
    }

    /// The files that one agent has read, in all its activations in this process. Files that only another agent has
    /// read do not count. A full map keeps only recent tasks.
    pub(crate) fn stamps(&self, task: TaskId, is_recent: impl Fn(TaskId) -> bool) -> Arc<FileStamps> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        evict_old(&mut stamps, is_recent);
        Arc::clone(stamps.entry(task).or_default())
    }

    /// Whether there is a snapshot of the files that a task is expected to change.
    pub(crate) fn has_file_snapshot(&self, task: TaskId) -> bool {
        self.file_snapshot(task).is_some()
    }

    /// The snapshot of the files that a task is expected to change.
    pub(crate) fn file_snapshot(&self, task: TaskId) -> Option<Arc<FileSnapshot>> {
        self.expected_files.lock().unwrap_or_else(PoisonError::into_inner).get(&task).cloned()
    }

    /// Keeps the snapshot taken before the task begins. A full map keeps only recent tasks.
    pub(crate) fn keep_file_snapshot(&self, task: TaskId, snapshot: FileSnapshot, is_recent: impl Fn(TaskId) -> bool) {
        let mut snapshots = self.expected_files.lock().unwrap_or_else(PoisonError::into_inner);
        evict_old(&mut snapshots, is_recent);
        snapshots.insert(task, Arc::new(snapshot));
    }

    /// Takes a snapshot of all files of a folder; returns nothing for a folder with too many files.
    pub(crate) async fn snapshot_folder(&self, folder: PathBuf) -> Option<FileSnapshot> {
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
}

/// Before a full map grows, removes the entries of tasks that have long been idle. If such a task runs again, it
/// starts without its entry, as it would in a new process.
fn evict_old<T>(entries: &mut HashMap<TaskId, T>, is_recent: impl Fn(TaskId) -> bool) {
    if entries.len() == entries.capacity() {
        entries.retain(|task, _| is_recent(*task));
    }
}
