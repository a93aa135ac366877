//! A session that this server holds for its clients: one that runs in this process, or one that another process runs
//! and that is reached through its socket.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use host::Home;
use protocol::SessionId;
use protocol::api::Method;
use rpc::{CallError, Client, ErrorObject, Notifications};
use runtime::Session;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::audience::Audience;
use super::client_tasks::ClientTasks;
use crate::session_uuid;

/// A session that this server holds for its clients.
#[derive(Debug)]
pub(crate) struct Held {
    id: SessionId,
    home: Home,
    place: Place,
    /// For calls. Whoever watches has a link of its own, so that answers never wait behind events.
    client: Client,
    pub(crate) audience: Arc<Audience>,
    pub(crate) client_tasks: ClientTasks,
}

#[derive(Debug)]
enum Place {
    /// This process runs it, until it is left.
    Here(Mutex<Option<Session>>),
    /// Another process does.
    There(PathBuf),
}

impl Held {
    /// Holds a session that runs in this process.
    pub(crate) async fn here(session: Session, audience: Arc<Audience>) -> Result<Held, ErrorObject> {
        let (client, _unheard) = session.link().await.map_err(ErrorObject::internal)?;
        let (id, home) = (session.id(), session.home().clone());
        let place = Place::Here(Mutex::new(Some(session)));
        Ok(Held { id, home, place, client, audience, client_tasks: ClientTasks::default() })
    }

    /// Holds a session that another process runs.
    pub(crate) async fn there(home: &Home, id: SessionId) -> Result<Held, ErrorObject> {
        let socket = home.socket(id);
        let (client, _unheard) = Client::connect(&socket).await.map_err(ErrorObject::internal)?;
        let (place, audience) = (Place::There(socket), Arc::default());
        Ok(Held { id, home: home.clone(), place, client, audience, client_tasks: ClientTasks::default() })
    }

    pub(crate) fn id(&self) -> SessionId {
        self.id
    }

    /// Its id as clients write it.
    pub(crate) fn uuid(&self) -> String {
        session_uuid(self.id).to_string()
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Calls the session's API.
    pub(crate) async fn call<R: DeserializeOwned>(
        &self,
        method: Method,
        params: impl Serialize,
    ) -> Result<R, ErrorObject> {
        self.client.call(method, params).await.map_err(refused)
    }

    /// Tells every client of the session an event that is not kept.
    pub(crate) async fn emit(&self, kind: &'static str, content: Value) {
        self.audience.tell(kind, content).await;
    }

    /// One more client of its API, for whoever watches it.
    pub(crate) async fn link(&self) -> Result<(Client, Notifications), ErrorObject> {
        match &self.place {
            Place::Here(session) => {
                let inside = session.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Session::inside);
                let inside = inside.ok_or_else(|| ErrorObject::internal("the session was left"))?;
                inside.link().await.map_err(ErrorObject::internal)
            }
            Place::There(socket) => Client::connect(socket).await.map_err(ErrorObject::internal),
        }
    }

    /// Ends this process's part: what runs can be gone on with by whoever resumes the session.
    pub(crate) async fn leave(&self) {
        let Place::Here(session) = &self.place else { return };
        let session = session.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(session) = session
            && let Err(error) = session.leave().await
        {
            tracing::warn!(%error, "a session was not left well");
        }
    }
}

fn refused(error: CallError) -> ErrorObject {
    match error {
        CallError::Refused(error) => error,
        error @ (CallError::Closed(_) | CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
            ErrorObject::internal(error)
        }
    }
}
