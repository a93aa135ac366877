//! A client of the process that keeps sessions which no terminal holds.

use std::time::Duration;

use host::Home;
use protocol::api::{ApiCall, HostView, Nothing, calls};
use rpc::local::ConnectError;
use rpc::{CallError, ConnectionClosed, Notifications, RpcClient};

/// How long the process may take to answer; it may have to open a session.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// A connection to the session host of a home.
#[derive(Debug)]
pub struct HostClient {
    client: RpcClient,
    _notifications: Notifications,
}

/// Why the session host cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostClientError {
    /// Its socket cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It does not say what it is.
    #[error("the session host does not answer: {0}")]
    Call(CallError),
}

impl HostClient {
    /// Connects to the session host that runs; none if there is none, or if it is about to end.
    pub async fn running(home: &Home) -> Result<Option<(HostClient, HostView)>, HostClientError> {
        let Some(client) = HostClient::connect(home).await? else { return Ok(None) };
        match client.call::<calls::HostGet>(&Nothing {}).await {
            Ok(view) => Ok(Some((client, view))),
            Err(CallError::Closed(_)) => Ok(None),
            Err(error) => Err(HostClientError::Call(error)),
        }
    }

    /// Connects to the session host; none if there is none.
    pub async fn connect(home: &Home) -> Result<Option<HostClient>, ConnectError> {
        match RpcClient::connect(&home.host_socket()).await {
            Ok((client, notifications)) => Ok(Some(HostClient { client, _notifications: notifications })),
            Err(ConnectError::Absent { .. } | ConnectError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Calls a method of the host.
    pub async fn call<C: ApiCall>(&self, params: &C::Params) -> Result<C::Result, CallError> {
        let call = self.client.call(C::METHOD, params);
        let late = || Err(ConnectionClosed { reason: "the session host does not answer".into() }.into());
        tokio::time::timeout(ANSWER_TIMEOUT, call).await.unwrap_or_else(|_elapsed| late())
    }
}
