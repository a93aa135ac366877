//! One session, reached in the same way whether it runs or rests.

use std::sync::Arc;
use std::time::Duration;

use host::Home;
use protocol::SessionId;
use protocol::api::{AnswerSource, ApiCall, ExportParams, Method, TodoEdits, TodoIds};
use rpc::{CallError, ErrorObject, Notifications, RpcClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::StoreError;
use tokio::time::Instant;

use crate::answers::{parse, to_json};
use crate::events::{EventStream, FollowOptions};
use crate::{ClientError, InProcessSession, StoredSession, log};

/// How long the process that runs a session may take to answer a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a process may run a session without listening on its socket: it opens or closes the session just then.
const OWNER_CHANGE_TIME: Duration = Duration::from_secs(5);

/// How long after a process was found to do so its session is looked at again.
const OWNER_CHANGE_PAUSE: Duration = Duration::from_millis(20);

/// A session, whether a process runs it or not.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    home: Home,
    id: SessionId,
    owner: Owner,
}

/// The process that runs the session.
#[derive(Debug, Clone)]
enum Owner {
    /// Another one, if any, which listens on the session's socket.
    OtherProcess,
    /// This one.
    ThisProcess(Arc<dyn InProcessSession>),
}

impl SessionHandle {
    /// A session of this home.
    pub fn new(home: &Home, id: SessionId) -> SessionHandle {
        SessionHandle { home: home.clone(), id, owner: Owner::OtherProcess }
    }

    /// A session that this process runs.
    pub fn in_process(session: Arc<dyn InProcessSession>) -> SessionHandle {
        SessionHandle { home: session.home().clone(), id: session.id(), owner: Owner::ThisProcess(session) }
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
    pub(crate) fn stored(&self) -> Result<StoredSession, StoreError> {
        StoredSession::open(&self.home, self.id)
    }

    /// Reads the session's file on a thread for blocking work.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&SessionHandle) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, ClientError> {
        let handle = self.clone();
        let reading = tokio::task::spawn_blocking(move || read(&handle));
        reading.await.unwrap_or_else(|ended| Err(ClientError::internal(ended)))
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
            (AnswerSource::Home | AnswerSource::Host | AnswerSource::Settings, _) => {
                Err(ClientError::WrongScope(method))
            }
            // A damaged file cannot be opened, but its log can be read.
            (AnswerSource::File, Method::SessionExport) => {
                let (session, ExportParams { format }) = (self.clone(), parse(params)?);
                let exporting = tokio::task::spawn_blocking(move || log::export(&session.home, session.id, format));
                to_json(exporting.await.unwrap_or_else(|ended| Err(ClientError::internal(ended)))?)
            }
            (AnswerSource::OwnerFirst, _) => self.call_owner_first(method, params, timeout).await,
            (AnswerSource::File, _) => self.read(move |session| session.stored()?.answer(method, params)).await,
            (AnswerSource::Command, Method::SessionCommand) => to_json(&self.give(&parse(params)?).await?),
            (AnswerSource::Command, Method::TodosEdit) => {
                let TodoEdits { edits } = parse(params)?;
                to_json(&TodoIds { ids: self.edit_todos(edits).await?.ids })
            }
            (AnswerSource::Owner | AnswerSource::Command, _) => {
                let pid = self.owner().await?.ok_or(ClientError::NotRunning(self.id))?;
                Ok(self.call_owner(pid, method, params, Some(timeout)).await?)
            }
        }
    }

    /// Calls a method of the process that runs the session; if none does, or it ends first, the file has the answer. The
    /// owner takes as long as the method's own limit allows, and `timeout` longer.
    async fn call_owner_first(&self, method: Method, params: Value, timeout: Duration) -> Result<Value, ClientError> {
        let limit = params["timeoutMs"].as_u64().map(|limit| Duration::from_millis(limit).saturating_add(timeout));
        let mut not_listening_since = None;
        while let Some(pid) = self.owner().await? {
            match self.call_owner(pid, method, params.clone(), limit).await {
                Ok(answer) => return Ok(answer),
                // Its successor, or the file, has the answer.
                Err(OwnerCallError::Failed(ClientError::Ended { .. })) => not_listening_since = None,
                // It is opening or closing the session.
                Err(OwnerCallError::NotListening { .. })
                    if not_listening_since.get_or_insert_with(Instant::now).elapsed() < OWNER_CHANGE_TIME => {}
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(OWNER_CHANGE_PAUSE).await;
        }
        self.read(move |session| session.stored()?.answer(method, params)).await
    }

    /// The process that runs the session.
    async fn owner(&self) -> Result<Option<u32>, ClientError> {
        match &self.owner {
            Owner::ThisProcess(_) => Ok(Some(std::process::id())),
            Owner::OtherProcess => self.read(|session| Ok(session.owner_pid()?)).await,
        }
    }

    /// Follows the session's events after a sequence number.
    pub fn follow(&self, after: u64, options: FollowOptions) -> EventStream {
        match &self.owner {
            Owner::ThisProcess(session) => EventStream::in_process(self.clone(), &**session, after, options),
            Owner::OtherProcess => EventStream::new(self.clone(), after, options),
        }
    }

    /// Connects to the process that runs the session.
    pub async fn connect(&self) -> Result<(RpcClient, Notifications), std::io::Error> {
        match &self.owner {
            Owner::OtherProcess => RpcClient::connect(&self.home.socket(self.id)).await.map_err(std::io::Error::other),
            Owner::ThisProcess(session) => session.connector().connect().await,
        }
    }

    /// Calls a command's method of the process that runs the session.
    pub(crate) async fn command_owner<R: DeserializeOwned>(
        &self,
        pid: u32,
        method: Method,
        params: impl Serialize,
    ) -> Result<R, ClientError> {
        Ok(self.call_owner(pid, method, params, Some(COMMAND_TIMEOUT)).await?)
    }

    async fn call_owner<R: DeserializeOwned>(
        &self,
        pid: u32,
        method: Method,
        params: impl Serialize,
        timeout: Option<Duration>,
    ) -> Result<R, OwnerCallError> {
        let call = async {
            match &self.owner {
                Owner::OtherProcess => self.call_socket(pid, method, params).await,
                Owner::ThisProcess(session) => Ok(call_in_process(&**session, method, params).await?),
            }
        };
        let late = || Err(ClientError::NoAnswer { pid, why: "it may be suspended".into() }.into());
        match timeout {
            Some(timeout) => tokio::time::timeout(timeout, call).await.unwrap_or_else(|_elapsed| late()),
            None => call.await,
        }
    }

    async fn call_socket<R: DeserializeOwned>(
        &self,
        pid: u32,
        method: Method,
        params: impl Serialize,
    ) -> Result<R, OwnerCallError> {
        let not_listening = |why| OwnerCallError::NotListening { pid, why };
        let (client, _notifications) = self.connect().await.map_err(not_listening)?;
        client.call::<R>(method, params).await.map_err(|error| {
            let error = match error {
                CallError::Refused(refused) => ClientError::Refused(refused),
                CallError::Closed(closed) => ClientError::Ended { pid, closed },
                error @ (CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
                    ClientError::Call(error)
                }
            };
            OwnerCallError::Failed(error)
        })
    }
}

/// Why the process that runs a session has not answered a call.
#[derive(Debug)]
enum OwnerCallError {
    /// It does not listen on the session's socket, and so has not received the call.
    NotListening {
        /// The process.
        pid: u32,
        /// Why it cannot be connected to.
        why: std::io::Error,
    },
    /// The call failed.
    Failed(ClientError),
}

impl From<ClientError> for OwnerCallError {
    fn from(error: ClientError) -> OwnerCallError {
        OwnerCallError::Failed(error)
    }
}

impl From<OwnerCallError> for ClientError {
    fn from(error: OwnerCallError) -> ClientError {
        match error {
            OwnerCallError::NotListening { pid, why } => ClientError::NoAnswer { pid, why: why.to_string() },
            OwnerCallError::Failed(error) => error,
        }
    }
}

async fn call_in_process<R: DeserializeOwned>(
    session: &dyn InProcessSession,
    method: Method,
    params: impl Serialize,
) -> Result<R, ClientError> {
    let params = serde_json::to_value(params).map_err(CallError::Params).map_err(ClientError::Call)?;
    match session.connector().call(method, params).await {
        Ok(answer) => serde_json::from_value(answer).map_err(CallError::Answer).map_err(ClientError::Call),
        Err(CallError::Refused(refused)) => Err(match session.pause_reason() {
            Some(reason) if refused.code == ErrorObject::INTERNAL => ClientError::Paused(reason),
            Some(_) | None => ClientError::Refused(refused),
        }),
        Err(CallError::Closed(closed)) => {
            Err(ClientError::NoAnswer { pid: std::process::id(), why: closed.to_string() })
        }
        Err(error) => Err(ClientError::Call(error)),
    }
}
