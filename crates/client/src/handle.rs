//! One session, reached in the same way whether it runs or rests.

use std::time::Duration;

use host::Home;
use protocol::SessionId;
use protocol::api::{AnswerSource, ApiCall, Method, TodoEdits, TodoIds};
use rpc::{CallError, ErrorObject, InProcessConnector, Notifications, RpcClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::StoreError;

use crate::answers::{parse, to_json};
use crate::events::{EventStream, FollowOptions};
use crate::{ClientError, StoredSession};

/// How long the process that runs a session may take to answer a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// A session, whether a process runs it or not.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    home: Home,
    id: SessionId,
    connector: Connector,
}

/// The way to the process that runs the session.
#[derive(Debug, Clone)]
enum Connector {
    /// The session's socket.
    Socket,
    /// This process runs it.
    InProcess(InProcessConnector),
}

impl SessionHandle {
    /// A session of this home.
    pub fn new(home: &Home, id: SessionId) -> SessionHandle {
        SessionHandle { home: home.clone(), id, connector: Connector::Socket }
    }

    /// A session that this process runs.
    pub fn in_process(home: &Home, id: SessionId, connector: InProcessConnector) -> SessionHandle {
        SessionHandle { home: home.clone(), id, connector: Connector::InProcess(connector) }
    }

    /// The session.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The folder of all sessions.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The session's file.
    pub fn stored(&self) -> Result<StoredSession, StoreError> {
        StoredSession::open(&self.home, self.id)
    }

    /// Reads the session's file on a thread for blocking work.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&StoredSession) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, ClientError> {
        let handle = self.clone();
        let reading = tokio::task::spawn_blocking(move || read(&handle.stored()?));
        reading.await.unwrap_or_else(|ended| Err(StoreError::Home(format!("the read ended early: {ended}")).into()))
    }

    /// Calls a method with typed parameters and a typed result.
    pub async fn call<C: ApiCall>(&self, params: &C::Params, timeout: Duration) -> Result<C::Result, ClientError> {
        let params = serde_json::to_value(params).map_err(CallError::Params).map_err(ClientError::Call)?;
        let answer = self.call_value(C::METHOD, params, timeout).await?;
        serde_json::from_value(answer).map_err(CallError::Answer).map_err(ClientError::Call)
    }

    /// Calls a method: what the file says is read from there, even while a process runs the session, and a command to a
    /// session that rests is queued.
    pub async fn call_value(&self, method: Method, params: Value, timeout: Duration) -> Result<Value, ClientError> {
        match (method.source(), method) {
            (AnswerSource::File, _) => self.read(move |stored| stored.answer(method, params)).await,
            (AnswerSource::Command, Method::SessionCommand) => to_json(&self.give(&parse(params)?).await?),
            (AnswerSource::Command, Method::TodosEdit) => {
                let TodoEdits { edits } = parse(params)?;
                to_json(&TodoIds { ids: self.edit_todos(edits).await?.ids })
            }
            (AnswerSource::Host, _) => Err(ClientError::Refused(ErrorObject::unknown_method(method.name()))),
            (AnswerSource::Owner | AnswerSource::Command, _) => {
                let owner = match &self.connector {
                    Connector::InProcess(_) => Some(std::process::id()),
                    Connector::Socket => self.read(|stored| Ok(stored.owner()?)).await?,
                };
                let pid = owner.ok_or(ClientError::NotRunning(self.id))?;
                self.call_owner(pid, method, params, timeout).await
            }
        }
    }

    /// Follows the session's events after a sequence number.
    pub fn follow(&self, after: u64, options: FollowOptions) -> EventStream {
        EventStream::new(self.clone(), after, options)
    }

    /// Connects to the process that runs the session.
    pub async fn connect(&self) -> Result<(RpcClient, Notifications), std::io::Error> {
        match &self.connector {
            Connector::Socket => RpcClient::connect(&self.home.socket(self.id)).await.map_err(std::io::Error::other),
            Connector::InProcess(connector) => connector.connect().await,
        }
    }

    /// Calls a command's method of the process that runs the session.
    pub(crate) async fn command_owner<R: DeserializeOwned>(
        &self,
        pid: u32,
        method: Method,
        params: impl Serialize,
    ) -> Result<R, ClientError> {
        self.call_owner(pid, method, params, COMMAND_TIMEOUT).await
    }

    async fn call_owner<R: DeserializeOwned>(
        &self,
        pid: u32,
        method: Method,
        params: impl Serialize,
        timeout: Duration,
    ) -> Result<R, ClientError> {
        let call = async {
            let no_answer = |error: std::io::Error| ClientError::NoAnswer { pid, why: error.to_string() };
            let (client, _notifications) = self.connect().await.map_err(no_answer)?;
            client.call::<R>(method, params).await.map_err(|error| match error {
                CallError::Refused(refused) => ClientError::Refused(refused),
                CallError::Closed(closed) => ClientError::Ended { pid, closed },
                error @ (CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
                    ClientError::Call(error)
                }
            })
        };
        let late = || Err(ClientError::NoAnswer { pid, why: "it may be suspended".into() });
        tokio::time::timeout(timeout, call).await.unwrap_or_else(|_elapsed| late())
    }
}
