//! Where agents work: their folders, the processes they start, the network, and what they have seen of their files.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use host::{Guardian, Workspace};
use net::NetworkRoute;
use net::fetch::{FetchLimits, PageFetcher};
use policy::Policy;

use super::SessionFacts;
use super::task_memory::TaskMemories;
use crate::expectations::FileSnapshot;
use crate::file_history::FileRecorder;
use crate::grants::Grants;
use crate::redact::Redactor;
use crate::settings::SessionSettings;
use crate::task_workspaces::{CommandEnv, TaskWorkspace, TaskWorkspaces};

/// Where the agents of this process work.
#[derive(Debug)]
pub(crate) struct Workplace {
    pub(crate) facts: Arc<SessionFacts>,
    /// What calls may do, including what was granted while the session ran.
    pub(crate) grants: Arc<Grants>,
    /// The workspaces of tasks.
    pub(crate) task_workspaces: TaskWorkspaces,
    /// Starts programs.
    pub(crate) guardian: Guardian,
    /// The complete environment of started programs.
    pub(crate) env: CommandEnv,
    pub(crate) fetcher: PageFetcher,
    /// Removes secrets from everything that is written.
    pub(crate) redactor: Redactor,
    /// Records what tools change in files.
    pub(crate) file_recorder: Arc<FileRecorder>,
    /// What tasks have seen of their files.
    pub(crate) memories: TaskMemories,
    /// Folders with too many files to detect what a command changed.
    large_folders: Mutex<HashSet<PathBuf>>,
}

impl Workplace {
    pub(crate) fn new(
        settings: &SessionSettings,
        facts: Arc<SessionFacts>,
        (guardian, workspace): (Guardian, Workspace),
        grants: Arc<Grants>,
    ) -> Workplace {
        let (env, route) = (settings.env.clone(), settings.route.clone());
        let workspace = TaskWorkspace::shared(workspace, env.clone(), settings.outside_files);
        let redactor = Redactor::new(&settings.secrets);
        settings.client_extensions.joined_providers.attach(&redactor);
        Workplace::of_run(facts, (guardian, workspace), grants, (env, route), redactor)
    }

    /// A workplace of these parts.
    pub(crate) fn of_run(
        facts: Arc<SessionFacts>,
        (guardian, workspace): (Guardian, TaskWorkspace),
        grants: Arc<Grants>,
        (env, route): (CommandEnv, NetworkRoute),
        redactor: Redactor,
    ) -> Workplace {
        let file_recorder = Arc::new(FileRecorder::new(&facts, redactor.clone()));
        Workplace {
            file_recorder,
            facts,
            grants,
            task_workspaces: TaskWorkspaces::new(workspace),
            guardian,
            env,
            fetcher: PageFetcher::new(route, FetchLimits::default()),
            redactor,
            memories: TaskMemories::default(),
            large_folders: Mutex::default(),
        }
    }

    /// The current permissions of calls.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        self.grants.policy()
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
