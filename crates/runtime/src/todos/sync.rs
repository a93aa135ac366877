//! Who tells the kernel which todos were changed. There is one sync task, and it takes one look at a time: rows that two
//! looks had read would be told in an order in which they never were.

use std::sync::{Arc, Mutex, PoisonError};

use kernel::KernelInput;
use protocol::{Principal, TaskId};
use store::{ChangeNumbers, SessionReader, StoreError, TodoAuthor, TodoChanges};
use tokio::sync::{mpsc, oneshot};

use crate::agent::SessionContext;
use crate::supervisor::{InputRejection, Supervisor};

/// How many may wait for the sync task at once.
const WAITING: usize = 64;

/// Most looks at a time: what is changed faster than it can be told waits for the next time.
const LOOKS: usize = 64;

/// Why changes were not taken over. They stay in the file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TodoSyncError {
    /// They could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody could decide about them.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
}

type SyncReplySender = oneshot::Sender<Result<(), TodoSyncError>>;

/// A handle to the sync task.
#[derive(Debug, Clone)]
pub(crate) struct TodoSyncHandle {
    requests: mpsc::Sender<SyncReplySender>,
    /// The changes that this process made for a person or an agent. It alone can say so: any program may write to the file.
    vouched: Arc<Mutex<Vec<ChangeNumbers>>>,
}

/// What the sync task will be asked.
#[derive(Debug)]
pub(crate) struct TodoSyncRequests(mpsc::Receiver<SyncReplySender>, Arc<Mutex<Vec<ChangeNumbers>>>);

impl TodoSyncHandle {
    /// A handle to a sync task that does not listen yet.
    pub(crate) fn new() -> (TodoSyncHandle, TodoSyncRequests) {
        let (asker, asked) = mpsc::channel(WAITING);
        let vouched = Arc::<Mutex<Vec<ChangeNumbers>>>::default();
        (TodoSyncHandle { requests: asker, vouched: Arc::clone(&vouched) }, TodoSyncRequests(asked, vouched))
    }

    /// Says that the changes with these numbers are those of a person, or of the agent that signed them.
    pub(crate) fn vouch(&self, noted: ChangeNumbers) {
        if noted.is_empty() {
            return;
        }
        self.vouched.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
    }

    /// Has everything taken over that was changed until now. It is durable then, and the rows show what holds.
    pub(crate) async fn sync(&self) -> Result<(), TodoSyncError> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(reply).await.map_err(|_gone| InputRejection::SessionEnded)?;
        answer.await.map_err(|_gone| InputRejection::SessionEnded)?
    }
}

/// The one who takes changes over.
pub(crate) struct TodoSync {
    context: Arc<SessionContext>,
    supervisor: Supervisor,
    requests: TodoSyncRequests,
    reader: Option<SessionReader>,
}

impl TodoSync {
    pub(crate) fn new(context: Arc<SessionContext>, supervisor: Supervisor, asked: TodoSyncRequests) -> TodoSync {
        TodoSync { context, supervisor, requests: asked, reader: None }
    }

    /// Takes over whatever it is asked to, until the session ends.
    pub(crate) async fn serve(mut self) {
        let mut waiting = Vec::new();
        while self.requests.0.recv_many(&mut waiting, WAITING).await > 0 {
            let taken = self.sync().await;
            for reply in waiting.drain(..) {
                let answer = match &taken {
                    Ok(()) => Ok(()),
                    Err(TodoSyncError::Store(error)) => Err(TodoSyncError::Store(error.clone())),
                    Err(TodoSyncError::Rejected(rejected)) => Err(TodoSyncError::Rejected(rejected.clone())),
                };
                // Whoever asked may have gone; what it changed is taken over all the same.
                let _gone = reply.send(answer);
            }
        }
    }

    /// Takes over what was changed while nobody ran the session: what has no author is a person's.
    pub(crate) async fn sync_pending(&mut self) -> Result<(), TodoSyncError> {
        self.sync_if(&|_n| true).await.map(drop)
    }

    /// Takes over what was changed since.
    async fn sync(&mut self) -> Result<(), TodoSyncError> {
        let vouched = self.requests.1.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let upto = self.sync_if(&|n| vouched.iter().any(|noted| noted.contains(&n))).await?;
        // A number that was told of is not vouched for again.
        let is_to_come = |noted: &ChangeNumbers| noted.end().unsigned_abs() > upto;
        self.requests.1.lock().unwrap_or_else(PoisonError::into_inner).retain(is_to_come);
        Ok(())
    }

    /// Gives the number of the last change that was told of.
    async fn sync_if(&mut self, vouched: &(dyn Fn(i64) -> bool + Sync)) -> Result<u64, TodoSyncError> {
        let mut upto = 0;
        for _look in 0..LOOKS {
            let changes = self.reader()?.todo_changes(&|n| vouched(n))?;
            if changes.is_empty() {
                break;
            }
            upto = changes.iter().map(|changes| changes.upto).fold(upto, u64::max);
            self.supervisor.submit_all(changes.into_iter().map(input)).await?;
        }
        Ok(upto)
    }

    fn reader(&mut self) -> Result<&SessionReader, StoreError> {
        match self.reader.take() {
            Some(reader) => Ok(self.reader.insert(reader)),
            None => Ok(self.reader.insert(self.context.reader()?)),
        }
    }
}

fn input(changes: TodoChanges) -> KernelInput {
    let TodoChanges { by, changed, gone, upto } = changes;
    let by = match by {
        TodoAuthor::Person => Principal::User,
        TodoAuthor::Root(id) | TodoAuthor::Worker(id) => Principal::Task { id },
        // It may say no more than an agent that does none of them.
        TodoAuthor::Unverified => Principal::Task { id: TaskId::new(uuid::Uuid::nil()) },
    };
    KernelInput::Todos { by, changed, gone, upto }
}
