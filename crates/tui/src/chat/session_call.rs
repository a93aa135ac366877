//! Calls to the session of a conversation.

use std::time::Duration;

use client::{ClientError, SessionHandle};
use protocol::Refusal;
use protocol::api::ApiCall;
use rpc::ErrorObject;

/// How long a call may take: hooks have no limit, and a process does not lose itself.
const NO_TIME_LIMIT: Duration = Duration::MAX;

/// Why a call to the session has no result.
#[derive(Debug)]
pub enum CallFailure {
    /// The session refused it, for this reason; it continues.
    Refused(Refusal),
    /// The session cannot continue.
    Fatal(ClientError),
}

impl From<ClientError> for CallFailure {
    fn from(error: ClientError) -> CallFailure {
        match error {
            ClientError::Refused(refused) if refused.code == ErrorObject::REFUSED => {
                CallFailure::Refused(refused.refusal())
            }
            error => CallFailure::Fatal(error),
        }
    }
}

/// Calls a method of the session of this process, for as long as it takes.
pub async fn call_session<C: ApiCall>(session: &SessionHandle, params: &C::Params) -> Result<C::Result, CallFailure> {
    Ok(session.call::<C>(params, NO_TIME_LIMIT).await?)
}
