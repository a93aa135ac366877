//! Delivers user commands to a session: over the socket of its owner process or, if it is not running, through its file
//! for the next owner. A file cannot tell who wrote to it, so a running session accepts nothing from there.

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

/// How long the owner process may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How a command was delivered.
#[derive(Debug)]
pub(crate) enum DeliveryOutcome {
    /// The owner process applied or refused it.
    Answered(CommandOutcome),
    /// The session is not running; the next owner applies it first.
    Queued,
}

/// Delivers a command to a session.
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
            // Another process opened it in the meantime.
            Err(StoreError::Owned { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the id of the live process that owns a session.
pub(crate) fn live_owner(reader: &SessionReader) -> Result<Option<u32>, StoreError> {
    Ok(reader.lease()?.map(|(_, owner)| owner).filter(host::ProcessIdentity::is_alive).map(|owner| owner.pid))
}

/// Calls a method of the owner process.
pub(crate) async fn call_owner<R: DeserializeOwned>(
    home: &Home,
    id: SessionId,
    pid: u32,
    method: Method,
    params: impl Serialize,
) -> Result<R, CliError> {
    let no_answer = |why: &dyn std::fmt::Display| {
        CliError::failed(format!("process {pid} runs the session and does not answer: {why}"))
            .with_hint("try again; if it still does not answer, end that process and resume the session")
    };
    let call = async {
        let (client, _notifications) = RpcClient::connect(&home.socket(id)).await.map_err(|error| no_answer(&error))?;
        client.call::<R>(method, params).await.map_err(|error| match error {
            CallError::Refused(refused) => CliError::usage(refused),
            CallError::Closed(closed) => CliError::failed(format!(
                "process {pid} ended before it answered; it may not have received the command: {closed}"
            )),
            error @ (CallError::TooLarge { .. } | CallError::Params(_) | CallError::Answer(_)) => {
                CliError::failed(error)
            }
        })
    };
    tokio::time::timeout(ANSWER_TIMEOUT, call).await.unwrap_or_else(|_late| Err(no_answer(&"it may be suspended")))
}
