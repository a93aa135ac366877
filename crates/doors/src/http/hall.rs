//! The sessions that run in this process. Each has a keeper, who alone holds it and hears wishes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::StatusCode;
use protocol::SessionId;
use rpc::{Client, Notifications};
use runtime::{Session, Start, Status};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::problem::Problem;
use crate::{House, Order};

/// A connection to a session.
pub(super) type Link = (Client, Notifications);

/// The sessions that run in this process.
pub(super) struct Hall {
    house: Arc<dyn House>,
    most: usize,
    /// One is opened at a time, so that nobody opens what another is about to.
    opening: tokio::sync::Mutex<()>,
    rooms: Rooms,
    keepers: TaskTracker,
    /// Where sessions run, and not those who ask for them.
    sessions: Handle,
    closing: CancellationToken,
}

type Rooms = Arc<Mutex<HashMap<SessionId, mpsc::Sender<Wish>>>>;

/// What a keeper is asked for.
enum Wish {
    /// A connection.
    Link(oneshot::Sender<Link>),
    /// To leave the session once nothing runs in it any more.
    Retire,
    /// To leave the session now.
    Leave(oneshot::Sender<()>),
}

/// How many wishes wait for a keeper.
const WISHES: usize = 16;

impl Hall {
    /// Sessions run where this is called.
    pub(super) fn new(house: Arc<dyn House>, most: usize, closing: CancellationToken) -> Hall {
        let opening = tokio::sync::Mutex::new(());
        let (rooms, keepers, sessions) = (Rooms::default(), TaskTracker::new(), Handle::current());
        Hall { house, most, opening, rooms, keepers, sessions, closing }
    }

    pub(super) fn home(&self) -> &host::Home {
        self.house.home()
    }

    /// How many sessions run here.
    pub(super) fn count(&self) -> usize {
        rooms(&self.rooms).len()
    }

    /// Opens a session here. What was interrupted in one that goes on goes on. A session that is being opened is opened,
    /// even if its client has left: one that nobody keeps could not be reached by anybody.
    pub(super) async fn open(self: &Arc<Self>, order: Order) -> Result<(SessionId, Link), Problem> {
        let hall = Arc::clone(self);
        let taken_in = async move { hall.take_in(order).await };
        self.keepers.spawn_on(taken_in, &self.sessions).await.map_err(Problem::broken)?
    }

    async fn take_in(&self, order: Order) -> Result<(SessionId, Link), Problem> {
        let _turn = self.opening.lock().await;
        if self.closing.is_cancelled() {
            return Err(Problem::conflict("the server is about to end").remedy("start it again"));
        }
        if let Start::Resume(id) = order.start
            && let Some(link) = self.link(id).await
        {
            return Ok((id, link));
        }
        if self.count() >= self.most {
            let detail = format!("{} sessions run here already, and that is the limit", self.most);
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, detail)
                .remedy("stop one: POST /v1/sessions/{session}/stop"));
        }
        let start = order.start;
        let session = self.house.open(order).await?;
        let id = session.id();
        let resumed = match start {
            Start::Resume(_) => session.resume().await,
            Start::New | Start::Fork(_) => Ok(()),
        };
        let link = session.link().await;
        let (room, wishes) = mpsc::channel(WISHES);
        rooms(&self.rooms).insert(id, room);
        // This runs where sessions do.
        self.keepers.spawn(keep(session, wishes, Arc::clone(&self.rooms), self.closing.clone()));
        resumed.map_err(Problem::broken)?;
        Ok((id, link.map_err(Problem::broken)?))
    }

    /// A connection to a session, if it runs here.
    pub(super) async fn link(&self, id: SessionId) -> Option<Link> {
        let (reply, link) = oneshot::channel();
        self.room(id)?.send(Wish::Link(reply)).await.ok()?;
        link.await.ok()
    }

    /// Leaves a session once nothing runs in it any more.
    pub(super) async fn retire(&self, id: SessionId) {
        if let Some(room) = self.room(id) {
            // A keeper who is gone has left it.
            room.send(Wish::Retire).await.ok();
        }
    }

    /// Leaves a session now, if it runs here, and waits until that is done.
    pub(super) async fn leave(&self, id: SessionId) {
        let (reply, left) = oneshot::channel();
        if let Some(room) = self.room(id)
            && room.send(Wish::Leave(reply)).await.is_ok()
        {
            left.await.ok();
        }
    }

    /// Waits until every session is left. Whoever closes the door has cancelled its token.
    pub(super) async fn empty(&self) {
        let _turn = self.opening.lock().await;
        self.keepers.close();
        self.keepers.wait().await;
    }

    /// Whether a session runs here.
    pub(super) fn runs(&self, id: SessionId) -> bool {
        self.room(id).is_some()
    }

    fn room(&self, id: SessionId) -> Option<mpsc::Sender<Wish>> {
        rooms(&self.rooms).get(&id).cloned()
    }
}

fn rooms(rooms: &Rooms) -> MutexGuard<'_, HashMap<SessionId, mpsc::Sender<Wish>>> {
    rooms.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nothing runs in a session any more. One that is paused has stopped, and will not say that it is quiet.
async fn quiet(status: &mut watch::Receiver<Status>) {
    // A session that says nothing any more is quiet.
    let _over = status.wait_for(|status| status.quiet || status.paused.is_some()).await.is_err();
}

/// Keeps one session until somebody wants it left.
async fn keep(session: Session, mut wishes: mpsc::Receiver<Wish>, all: Rooms, closing: CancellationToken) {
    let id = session.id();
    let mut status = session.status();
    let mut retiring = false;
    let wanted = loop {
        tokio::select! {
            wish = wishes.recv() => match wish {
                Some(Wish::Link(reply)) => match session.link().await {
                    // Whoever asked may have lost patience.
                    Ok(link) => drop(reply.send(link)),
                    Err(error) => tracing::warn!(%error, "the session cannot be reached"),
                },
                Some(Wish::Retire) => retiring = true,
                Some(Wish::Leave(reply)) => break Some(reply),
                None => break None,
            },
            () = quiet(&mut status), if retiring => break None,
            () = closing.cancelled() => break None,
        }
    };
    if let Err(error) = session.leave().await {
        tracing::warn!(%error, %id, "the session was not left as it should be");
    }
    rooms(&all).remove(&id);
    if let Some(reply) = wanted {
        // Whoever wanted it may have lost patience.
        reply.send(()).ok();
    }
}
