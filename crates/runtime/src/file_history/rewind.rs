//! Goes back to an earlier place: restores files, and cuts the conversation. A file is replaced only if it still is as a
//! tool left it, and only if no rule forbids changing it, whatever the client says.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{PathError, Workspace};
use kernel::TaskPhase;
use protocol::api::{
    FileChangeKind, FileRewind, RestoreObstacle, RewindParams, RewindPreview, RewindResult, RewindScope, SkippedFile,
};
use protocol::diff::LineCounts;
use protocol::{Hinted, TaskId};
use store::StoreError;
use store::file_history::{ChangeAuthor, FileHistory, RecordedContent};
use tools::{FileChange, FileState, RestoreError, read_state, restore_file};

use super::plan::{FilePlan, PlacedChange, place_changes, plan_files};
use super::points::RewindLog;
use super::recorder::{FileRecorder, content_of};
use crate::conversation_cut::{ConversationCutError, cut_conversation, expect_cut_point};
use crate::permission_check::RestorePermissions;
use crate::session_context::SessionContext;
use crate::settings::OutsideFiles;
use crate::supervisor::{InputRejection, Supervisor};

/// Why a session does not go back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RewindError {
    #[error("the session is working")]
    Busy,
    #[error(transparent)]
    Cut(#[from] ConversationCutError),
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot read what tools changed: {0}")]
    History(#[from] io::Error),
}

impl Hinted for RewindError {
    fn hint(&self) -> Option<String> {
        match self {
            RewindError::Busy => Some("interrupt it, or wait until it is idle".into()),
            RewindError::Cut(error) => error.hint(),
            RewindError::Rejected(_) | RewindError::Store(_) | RewindError::History(_) => None,
        }
    }
}

/// A file that was changed after the place to go back to.
#[derive(Debug)]
pub(super) struct RewoundFile {
    pub(super) path: PathBuf,
    pub(super) plan: FilePlan,
    /// Why it is not restored.
    pub(super) obstacle: Option<RestoreObstacle>,
}

/// Restores files of a session.
pub(super) struct Rewinder<'a> {
    recorder: &'a FileRecorder,
    permissions: RestorePermissions,
    workspace: Arc<Workspace>,
    outside_files: OutsideFiles,
    /// Maximum bytes of a file.
    most: u64,
    /// The files that were read, as they are now.
    current: RefCell<HashMap<PathBuf, Option<RecordedContent>>>,
}

impl Rewinder<'_> {
    pub(super) fn new(context: &SessionContext) -> Rewinder<'_> {
        let workplace = &context.workplace;
        let shared = workplace.task_workspaces.shared();
        Rewinder {
            recorder: &workplace.file_recorder,
            permissions: RestorePermissions::new(workplace, &shared),
            workspace: Arc::clone(&shared.workspace),
            outside_files: shared.outside_files(),
            most: workplace.facts.tools.file_bytes,
            current: RefCell::default(),
        }
    }

    pub(super) fn history(&self) -> &FileHistory {
        self.recorder.history()
    }

    /// The files that were changed after an event, by path.
    pub(super) fn files(&self, changes: &[PlacedChange], after: u64) -> Vec<RewoundFile> {
        let file = |(path, plan): (PathBuf, FilePlan)| {
            let obstacle = self.obstacle(&path, &plan).err();
            RewoundFile { path, plan, obstacle }
        };
        plan_files(changes, after).into_iter().map(file).collect()
    }

    fn obstacle(&self, path: &Path, plan: &FilePlan) -> Result<(), RestoreObstacle> {
        if !self.permissions.permit(path) {
            return Err(RestoreObstacle::Forbidden);
        }
        let workspace = self.workspace_of(path)?;
        let mut known = self.current.borrow_mut();
        let read = || read_state(&workspace, path, self.most, content_of);
        let current = known.entry(path.to_owned()).or_insert_with(read).as_ref().ok_or(RestoreObstacle::Unreachable)?;
        if !plan.is_as_left(current) {
            return Err(RestoreObstacle::ChangedSince);
        }
        self.target_bytes(plan).map(drop)
    }

    /// The workspace of the session, with the folder of a file outside it if tools may use such files.
    fn workspace_of(&self, path: &Path) -> Result<Arc<Workspace>, RestoreObstacle> {
        match (self.workspace.resolve(path), self.outside_files) {
            (Ok(_inside), _) => Ok(Arc::clone(&self.workspace)),
            (Err(PathError::Outside { .. }), OutsideFiles::Asked) => {
                let wider = self.workspace.with_folder_of(path);
                wider.map(Arc::new).map_err(|_| RestoreObstacle::Unreachable)
            }
            (Err(_unusable), OutsideFiles::Asked | OutsideFiles::Refused) => Err(RestoreObstacle::Unreachable),
        }
    }

    /// The content that a file goes back to; `None` if it is removed.
    fn target_bytes(&self, plan: &FilePlan) -> Result<Option<(Vec<u8>, u32)>, RestoreObstacle> {
        match &plan.target {
            RecordedContent::Missing => Ok(None),
            RecordedContent::Unread => Err(RestoreObstacle::NotKept),
            RecordedContent::File { digest, mode } => {
                let copy = self.history().copy_of(digest).map_err(|_unreadable| RestoreObstacle::NotKept)?;
                Ok(Some((copy.ok_or(RestoreObstacle::NotKept)?, *mode)))
            }
        }
    }

    /// Restores a file; `seq` is the last event before that.
    fn restore(&self, file: &RewoundFile, seq: u64) -> Result<(), RestoreObstacle> {
        let RewoundFile { path, plan, obstacle } = file;
        if let Some(obstacle) = obstacle {
            return Err(*obstacle);
        }
        let bytes = self.target_bytes(plan)?;
        let target = bytes.as_ref().map_or(FileState::Missing, |(bytes, mode)| FileState::File { bytes, mode: *mode });
        let is_expected = |current: FileState<'_>| plan.is_as_left(&content_of(current));
        let record = |current: FileState<'_>| {
            let change = FileChange { before: current, after: target };
            self.recorder.record_by(ChangeAuthor::Rewind { seq }, path, change);
        };
        let workspace = self.workspace_of(path)?;
        restore_file(&workspace, path, self.most, target, is_expected, record).map_err(|error| match error {
            RestoreError::Changed => RestoreObstacle::ChangedSince,
            RestoreError::Moved | RestoreError::File(_) => RestoreObstacle::Unreachable,
        })
    }
}

/// The text of a recorded state: of the file if it is still so, else of its copy. `None` for anything but text.
pub(super) fn text_of(rewinder: &Rewinder<'_>, path: &Path, wanted: &RecordedContent) -> Option<String> {
    let bytes = match wanted {
        RecordedContent::Missing => return Some(String::new()),
        RecordedContent::Unread => return None,
        RecordedContent::File { digest, .. } => match rewinder.history().copy_of(digest).ok()? {
            Some(copy) => copy,
            None => read_state(&*rewinder.workspace_of(path).ok()?, path, rewinder.most, |state| match state {
                FileState::File { bytes, mode } if RecordedContent::file(bytes, mode).is_same(wanted) => {
                    Some(bytes.to_vec())
                }
                FileState::File { .. } | FileState::Missing | FileState::Unread => None,
            })??,
        },
    };
    String::from_utf8(bytes).ok()
}

/// What going back would do to files. It reads files, so it blocks.
pub(crate) fn preview_rewind(context: &SessionContext, root: TaskId, after: u64) -> Result<RewindPreview, RewindError> {
    let (rewinder, changes, _) = read_changes(context, root)?;
    let describe = |file: RewoundFile| {
        let RewoundFile { path, plan, obstacle } = file;
        let (old, new) = (text_of(&rewinder, &path, &plan.target), text_of(&rewinder, &path, &plan.last));
        let LineCounts { added, removed } =
            old.zip(new).map(|(old, new)| LineCounts::of(&old, &new)).unwrap_or_default();
        let change = match (&plan.target, &plan.last) {
            (RecordedContent::Missing, _) => FileChangeKind::Created,
            (_, RecordedContent::Missing) => FileChangeKind::Removed,
            (RecordedContent::File { .. } | RecordedContent::Unread, _) => FileChangeKind::Changed,
        };
        let path = path.display().to_string();
        FileRewind { path, change, lines_added: added, lines_removed: removed, obstacle }
    };
    Ok(RewindPreview { files: rewinder.files(&changes, after).into_iter().map(describe).collect() })
}

fn read_changes(context: &SessionContext, root: TaskId) -> Result<(Rewinder<'_>, Vec<PlacedChange>, u64), RewindError> {
    let log = RewindLog::read(&context.log.reader()?, root)?;
    let rewinder = Rewinder::new(context);
    let changes = place_changes(rewinder.history().changes()?, &log.calls);
    Ok((rewinder, changes, log.last_seq))
}

/// Goes back. Files are restored first: if the process is killed then, going back again does the rest.
pub(crate) async fn rewind(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    RewindParams { after, scope }: RewindParams,
) -> Result<RewindResult, RewindError> {
    match scope {
        RewindScope::Conversation | RewindScope::Everything => {
            expect_cut_point(context, root, after)?;
            let is_idle = supervisor.query(move |kernel| kernel.task(root).map(|task| task.phase == TaskPhase::Idle));
            if is_idle.await? != Some(true) {
                return Err(RewindError::Busy);
            }
        }
        RewindScope::Files => {}
    }
    let result = match scope {
        RewindScope::Conversation => RewindResult { restored: Vec::new(), skipped: Vec::new() },
        RewindScope::Files | RewindScope::Everything => {
            let context = Arc::clone(context);
            let restored = tokio::task::spawn_blocking(move || restore_files(&context, root, after)).await;
            restored.map_err(io::Error::other)??
        }
    };
    match scope {
        RewindScope::Conversation | RewindScope::Everything => {
            cut_conversation(context, supervisor, root, after).await?
        }
        RewindScope::Files => {}
    }
    Ok(result)
}

fn restore_files(context: &SessionContext, root: TaskId, after: u64) -> Result<RewindResult, RewindError> {
    let (rewinder, changes, seq) = read_changes(context, root)?;
    let mut result = RewindResult { restored: Vec::new(), skipped: Vec::new() };
    for file in rewinder.files(&changes, after) {
        let path = file.path.display().to_string();
        match rewinder.restore(&file, seq) {
            Ok(()) => result.restored.push(path),
            Err(obstacle) => result.skipped.push(SkippedFile { path, obstacle }),
        }
    }
    Ok(result)
}
