//! Reports changed todos to the kernel. There is one sync task, which reads one batch at a time: concurrent reads could
//! report rows in the wrong order.

use std::sync::{Arc, Mutex, PoisonError};

use kernel::KernelInput;
use protocol::{Principal, TaskId};
use store::{ChangeNumbers, SessionReader, StoreError, TodoAuthor, TodoChanges};
use tokio::sync::{mpsc, oneshot};

use crate::session_context::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// Maximum number of requests that wait for the sync task.
const MAX_WAITING_REQUESTS: usize = 64;

/// Maximum number of reads per sync: changes that arrive faster wait for the next one.
const MAX_READS: usize = 64;

/// Why a sync failed. The changes stay in the store.
#[derive(Debug, thiserror::Error)]
pub enum TodoSyncError {
    /// The changes could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session rejected them.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

type SyncReplySender = oneshot::Sender<Result<(), TodoSyncError>>;

/// A handle to the sync task.
#[derive(Debug, Clone)]
pub(crate) struct TodoSyncHandle {
    requests: mpsc::Sender<SyncReplySender>,
    /// The changes that this process made for the user or an agent. Only this process can vouch for them: any program
    /// may write to the file.
    vouched: Arc<Mutex<Vec<ChangeNumbers>>>,
}

/// The requests to the sync task.
#[derive(Debug)]
pub(crate) struct TodoSyncRequests(mpsc::Receiver<SyncReplySender>, Arc<Mutex<Vec<ChangeNumbers>>>);

impl TodoSyncHandle {
    /// A handle to a sync task that does not run yet.
    pub(crate) fn new() -> (TodoSyncHandle, TodoSyncRequests) {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_REQUESTS);
        let vouched = Arc::<Mutex<Vec<ChangeNumbers>>>::default();
        (TodoSyncHandle { requests: sender, vouched: Arc::clone(&vouched) }, TodoSyncRequests(receiver, vouched))
    }

    /// Vouches that the changes with these numbers are by the user, or by the agent that signed them.
    pub(crate) fn vouch(&self, changes: ChangeNumbers) {
        if changes.is_empty() {
            return;
        }
        self.vouched.lock().unwrap_or_else(PoisonError::into_inner).push(changes);
    }

    /// Syncs all changes so far. Afterwards they are durable, and the rows show the accepted state.
    pub(crate) async fn sync(&self) -> Result<(), TodoSyncError> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(reply).await.map_err(|_gone| InputRejection::SessionEnded)?;
        answer.await.map_err(|_gone| InputRejection::SessionEnded)?
    }
}

/// The sync task.
pub(crate) struct TodoSync {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    requests: TodoSyncRequests,
    reader: Option<SessionReader>,
}

impl TodoSync {
    pub(crate) fn new(context: Arc<SessionContext>, supervisor: Supervisor, requests: TodoSyncRequests) -> TodoSync {
        TodoSync { context, supervisor, requests, reader: None }
    }

    /// Serves requests until the session ends.
    pub(crate) async fn serve(mut self) {
        let mut waiting = Vec::new();
        while self.requests.0.recv_many(&mut waiting, MAX_WAITING_REQUESTS).await > 0 {
            let result = self.sync().await;
            for reply in waiting.drain(..) {
                let answer = match &result {
                    Ok(()) => Ok(()),
                    Err(TodoSyncError::Store(error)) => Err(TodoSyncError::Store(error.clone())),
                    Err(TodoSyncError::Rejected(rejected)) => Err(TodoSyncError::Rejected(rejected.clone())),
                };
                // The requester may be gone; its changes are synced all the same.
                let _gone = reply.send(answer);
            }
        }
    }

    /// Syncs changes made while no process owned the session; those without an author are the user's.
    pub(crate) async fn sync_pending(&mut self) -> Result<(), TodoSyncError> {
        self.sync_if(&|_n| true).await.map(drop)
    }

    /// Syncs the changes since the last sync.
    async fn sync(&mut self) -> Result<(), TodoSyncError> {
        let vouched = self.requests.1.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let upto = self.sync_if(&|n| vouched.iter().any(|changes| changes.contains(&n))).await?;
        // Changes that were reported need no vouching any more.
        let is_pending = |changes: &ChangeNumbers| changes.end().unsigned_abs() > upto;
        self.requests.1.lock().unwrap_or_else(PoisonError::into_inner).retain(is_pending);
        Ok(())
    }

    /// Syncs changes; returns the number of the last one that was reported.
    async fn sync_if(&mut self, is_vouched: &(dyn Fn(i64) -> bool + Sync)) -> Result<u64, TodoSyncError> {
        let mut upto = 0;
        for _read in 0..MAX_READS {
            let changes = self.reader()?.todo_changes(&|n| is_vouched(n))?;
            if changes.is_empty() {
                break;
            }
            upto = changes.iter().map(|changes| changes.upto).fold(upto, u64::max);
            self.supervisor.submit_all(changes.into_iter().map(kernel_input)).await?;
        }
        Ok(upto)
    }

    fn reader(&mut self) -> Result<&SessionReader, StoreError> {
        match self.reader.take() {
            Some(reader) => Ok(self.reader.insert(reader)),
            None => Ok(self.reader.insert(self.context.log.reader()?)),
        }
    }
}

fn kernel_input(changes: TodoChanges) -> KernelInput {
    let TodoChanges { by, changed, gone, upto } = changes;
    let by = match by {
        TodoAuthor::Person => Principal::User,
        TodoAuthor::Root(id) | TodoAuthor::Worker(id) => Principal::Task { id },
        // An unverified author gets the rights of an agent that works on none of the todos.
        TodoAuthor::Unverified => Principal::Task { id: TaskId::new(uuid::Uuid::nil()) },
    };
    KernelInput::TodosChanged { by, changed, gone, upto }
}
