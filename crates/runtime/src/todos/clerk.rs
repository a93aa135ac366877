//! Who tells the kernel which todos were changed. There is one clerk, and it takes one look at a time: rows that two
//! looks had read would be told in an order in which they never were.

use std::sync::{Arc, Mutex, PoisonError};

use kernel::Input;
use protocol::{Origin, TaskId};
use store::{Noted, Reader, StoreError, TodoAuthor, TodoChanges};
use tokio::sync::{mpsc, oneshot};

use crate::agent::Desk;
use crate::supervisor::{Rejected, Supervisor};

/// How many may wait for the clerk at once.
const WAITING: usize = 64;

/// Most looks at a time: what is changed faster than it can be told waits for the next time.
const LOOKS: usize = 64;

/// Why changes were not taken over. They stay in the file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Untaken {
    /// They could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody could decide about them.
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

type Reply = oneshot::Sender<Result<(), Untaken>>;

/// A way to the clerk.
#[derive(Debug, Clone)]
pub(crate) struct Todos {
    asker: mpsc::Sender<Reply>,
    /// The changes that this process made for a person or an agent. It alone can say so: any program may write to the file.
    vouched: Arc<Mutex<Vec<Noted>>>,
}

/// What the clerk will be asked.
#[derive(Debug)]
pub(crate) struct Asked(mpsc::Receiver<Reply>, Arc<Mutex<Vec<Noted>>>);

impl Todos {
    /// A way to a clerk that does not listen yet.
    pub(crate) fn new() -> (Todos, Asked) {
        let (asker, asked) = mpsc::channel(WAITING);
        let vouched = Arc::<Mutex<Vec<Noted>>>::default();
        (Todos { asker, vouched: Arc::clone(&vouched) }, Asked(asked, vouched))
    }

    /// Says that the changes with these numbers are those of a person, or of the agent that signed them.
    pub(crate) fn vouch(&self, noted: Noted) {
        if noted.is_empty() {
            return;
        }
        self.vouched.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
    }

    /// Has everything taken over that was changed until now. It is durable then, and the rows show what holds.
    pub(crate) async fn take(&self) -> Result<(), Untaken> {
        let (reply, answer) = oneshot::channel();
        self.asker.send(reply).await.map_err(|_gone| Rejected::Gone)?;
        answer.await.map_err(|_gone| Rejected::Gone)?
    }
}

/// The one who takes changes over.
pub(crate) struct Clerk {
    desk: Arc<Desk>,
    supervisor: Supervisor,
    asked: Asked,
    reader: Option<Reader>,
}

impl Clerk {
    pub(crate) fn new(desk: Arc<Desk>, supervisor: Supervisor, asked: Asked) -> Clerk {
        Clerk { desk, supervisor, asked, reader: None }
    }

    /// Takes over whatever it is asked to, until the session ends.
    pub(crate) async fn serve(mut self) {
        let mut waiting = Vec::new();
        while self.asked.0.recv_many(&mut waiting, WAITING).await > 0 {
            let taken = self.take().await;
            for reply in waiting.drain(..) {
                let answer = match &taken {
                    Ok(()) => Ok(()),
                    Err(Untaken::Store(error)) => Err(Untaken::Store(error.clone())),
                    Err(Untaken::Rejected(rejected)) => Err(Untaken::Rejected(rejected.clone())),
                };
                // Whoever asked may have gone; what it changed is taken over all the same.
                let _gone = reply.send(answer);
            }
        }
    }

    /// Takes over what was changed while nobody ran the session: what has no author is a person's.
    pub(crate) async fn take_left(&mut self) -> Result<(), Untaken> {
        self.take_if(&|_n| true).await.map(drop)
    }

    /// Takes over what was changed since.
    async fn take(&mut self) -> Result<(), Untaken> {
        let vouched = self.asked.1.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let upto = self.take_if(&|n| vouched.iter().any(|noted| noted.contains(&n))).await?;
        // A number that was told of is not vouched for again.
        let is_to_come = |noted: &Noted| noted.end().unsigned_abs() > upto;
        self.asked.1.lock().unwrap_or_else(PoisonError::into_inner).retain(is_to_come);
        Ok(())
    }

    /// Gives the number of the last change that was told of.
    async fn take_if(&mut self, vouched: &(dyn Fn(i64) -> bool + Sync)) -> Result<u64, Untaken> {
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

    fn reader(&mut self) -> Result<&Reader, StoreError> {
        match self.reader.take() {
            Some(reader) => Ok(self.reader.insert(reader)),
            None => Ok(self.reader.insert(self.desk.reader()?)),
        }
    }
}

fn input(changes: TodoChanges) -> Input {
    let TodoChanges { by, changed, gone, upto } = changes;
    let by = match by {
        TodoAuthor::Person => Origin::User,
        TodoAuthor::Root(id) | TodoAuthor::Worker(id) => Origin::Task { id },
        // It may say no more than an agent that does none of them.
        TodoAuthor::Nobody => Origin::Task { id: TaskId::new(uuid::Uuid::nil()) },
    };
    Input::Todos { by, changed, gone, upto }
}
