//! Who tells the kernel which todos were changed. There is one clerk, and it takes one look at a time: rows that two
//! looks had read would be told in an order in which they never were.

use std::sync::Arc;

use kernel::Input;
use protocol::Origin;
use store::{Reader, StoreError, TodoChanges};
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
pub(crate) struct Todos(mpsc::Sender<Reply>);

/// What the clerk will be asked.
#[derive(Debug)]
pub(crate) struct Asked(mpsc::Receiver<Reply>);

impl Todos {
    /// A way to a clerk that does not listen yet.
    pub(crate) fn new() -> (Todos, Asked) {
        let (asker, asked) = mpsc::channel(WAITING);
        (Todos(asker), Asked(asked))
    }

    /// Has everything taken over that was changed until now. It is durable then, and the rows show what holds.
    pub(crate) async fn take(&self) -> Result<(), Untaken> {
        let (reply, answer) = oneshot::channel();
        self.0.send(reply).await.map_err(|_gone| Rejected::Gone)?;
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

    /// Takes over what was changed.
    pub(crate) async fn take(&mut self) -> Result<(), Untaken> {
        for _look in 0..LOOKS {
            let changes = self.reader()?.todo_changes()?;
            if changes.is_empty() {
                break;
            }
            self.supervisor.submit_all(changes.into_iter().map(input)).await?;
        }
        Ok(())
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
    // What another process wrote counts as a person's: a `bosun` that an agent starts may not.
    let by = by.map_or(Origin::User, |id| Origin::Task { id });
    Input::Todos { by, changed, gone, upto }
}
