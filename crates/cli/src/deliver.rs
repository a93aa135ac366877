//! What a person says reaches a session: on the socket of the process that runs it, or, while nobody runs it, in its
//! file for the next one that does. A file cannot tell who wrote to it, so no running session takes anything from there.

use std::time::Duration;

use host::Home;
use host::{Clock, SystemClock};
use protocol::SessionId;
use protocol::api::{CommandOutcome, Method, SessionCommand};
use rpc::{CallError, RpcClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::{SessionReader, StoreError};

use crate::error::CliError;

/// How long a session's process may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// What became of a command.
#[derive(Debug)]
pub(crate) enum DeliveryOutcome {
    /// The process that runs the session carried it out or refused it.
    Answered(CommandOutcome),
    /// Nobody runs the session; the next owner carries it out first.
    Queued,
}

/// Gives a command to a session.
pub(crate) async fn deliver_command(
    home: &Home,
    id: SessionId,
    command: &SessionCommand,
) -> Result<DeliveryOutcome, CliError> {
    let reader = SessionReader::open(home, id)?;
    loop {
        if let Some(pid) = live_owner(&reader)? {
            return call_owner(home, id, pid, Method::SessionCommand, command).await.map(DeliveryOutcome::Answered);
        }
        match store::post_command(home, id, command, SystemClock.now()) {
            Ok(_row) => return Ok(DeliveryOutcome::Queued),
            // It was opened meanwhile.
            Err(StoreError::Owned { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The living process that runs a session.
pub(crate) fn live_owner(reader: &SessionReader) -> Result<Option<u32>, StoreError> {
    Ok(reader.lease()?.map(|(_, owner)| owner).filter(host::ProcessIdentity::is_alive).map(|owner| owner.pid))
}

/// Calls a method of the process that runs a session.
pub(crate) async fn call_owner<R: DeserializeOwned>(
    home: &Home,
    id: SessionId,
    pid: u32,
    method: Method,
    params: impl Serialize,
) -> Result<R, CliError> {
    let unheard = |why: &dyn std::fmt::Display| {
        CliError::failed(format!("process {pid} runs the session and does not answer: {why}"))
            .with_hint("try again; if it stays so, end that process and resume the session")
    };
    let call = async {
        let (client, _notifications) = RpcClient::connect(&home.socket(id)).await.map_err(|error| unheard(&error))?;
        client.call::<R>(method, params).await.map_err(|error| match error {
            CallError::Refused(refused) => CliError::usage(refused),
            CallError::Closed(closed) => CliError::failed(format!(
                "process {pid} ended before it answered, so it may not have been told: {closed}"
            )),
            error @ (CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
                CliError::failed(error)
            }
        })
    };
    tokio::time::timeout(ANSWER_TIMEOUT, call).await.unwrap_or_else(|_late| Err(unheard(&"it may be stopped")))
}
