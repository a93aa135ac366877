//! Answers the clients of a host process.

use std::sync::Arc;

use protocol::SessionOptions;
use protocol::api::{HandOver, HostView, HttpEndpoint, Method, Nothing, RefusalKind, ReopenSessionParams, SessionView};
use rpc::{ClientHandle, ErrorObject, RequestHandler, ResponseFuture, read_params};
use runtime::SessionStart;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;

use super::HostDescription;
use crate::{HostEnd, HostError, KeepMode, SessionHost};

/// Answers the clients of a host process.
#[derive(Debug)]
pub(super) struct HostControl {
    sessions: Arc<SessionHost>,
    description: HostDescription,
    ending: mpsc::Sender<HostEnd>,
}

impl HostControl {
    pub(super) fn new(
        sessions: Arc<SessionHost>,
        description: HostDescription,
        ending: mpsc::Sender<HostEnd>,
    ) -> HostControl {
        HostControl { sessions, description, ending }
    }

    /// Begins a session, and keeps it until nothing runs in it. With nothing to do, it would be closed at once.
    async fn begin(&self, start: SessionStart, options: SessionOptions) -> Result<SessionView, ErrorObject> {
        let is_new = match start {
            SessionStart::New | SessionStart::Fork(_) => true,
            SessionStart::Resume(_) => false,
        };
        if is_new && options.prompt.is_none() {
            return Err(ErrorObject::bad_params("a session in the background needs a first prompt"));
        }
        self.sessions.begin(start, options).await.map_err(refusal)
    }

    fn view(&self) -> HostView {
        let HostDescription { version, program, started_at, http } = &self.description;
        HostView {
            pid: std::process::id(),
            version: (*version).to_owned(),
            program: program.clone(),
            started_at: *started_at,
            url: http.as_ref().map(HttpEndpoint::url),
            sessions: self.sessions.views(),
            not_adopted: self.sessions.not_adopted(),
        }
    }

    /// Asks the process to end. A second request changes nothing.
    fn end(&self, end: HostEnd) {
        self.sessions.set_end(end);
        self.ending.try_send(end).ok();
    }
}

impl RequestHandler for HostControl {
    fn call(&self, method: Method, params: Value, client: ClientHandle) -> ResponseFuture<'_> {
        Box::pin(async move {
            match method {
                Method::SessionsBegin => {
                    let options: SessionOptions = read_params(params)?;
                    json_of(self.begin(SessionStart::New, options).await?)
                }
                Method::SessionsResume => {
                    let ReopenSessionParams { session, options } = read_params(params)?;
                    json_of(self.begin(SessionStart::Resume(session), options).await?)
                }
                Method::SessionsFork => {
                    let ReopenSessionParams { session, options } = read_params(params)?;
                    json_of(self.begin(SessionStart::Fork(session), options).await?)
                }
                Method::FleetsBegin => {
                    let begun = self.sessions.begin_fleet(read_params(params)?, KeepMode::UntilQuiet).await;
                    json_of(begun.map_err(refusal)?)
                }
                Method::HostAttach => {
                    let (view, attachment) = self.sessions.attach(read_params(params)?).await.map_err(refusal)?;
                    client.attach(async move {
                        let _attachment = attachment;
                        std::future::pending().await
                    });
                    json_of(view)
                }
                Method::HostGet => json_of(self.view()),
                Method::HostStop => {
                    self.end(HostEnd::Stopped);
                    json_of(Nothing {})
                }
                Method::HostHandOver => {
                    self.end(HostEnd::HandedOver);
                    json_of(HandOver { http: self.description.http.clone() })
                }
                other => Err(ErrorObject::unknown_method(other.name())),
            }
        })
    }
}

fn json_of(value: impl Serialize) -> Result<Value, ErrorObject> {
    serde_json::to_value(value).map_err(ErrorObject::internal)
}

fn refusal(error: HostError) -> ErrorObject {
    match error {
        HostError::Closing => ErrorObject::refused(RefusalKind::Closed, error),
        HostError::Prompt(error) => error.into(),
        HostError::Failed(_) => ErrorObject::internal(error),
        HostError::Full(_) => ErrorObject::refused(RefusalKind::Limit, error),
        HostError::Refused(refusal) => ErrorObject::refused_with(RefusalKind::Invalid, refusal.into()),
        HostError::Rejected(_) => ErrorObject::refused(RefusalKind::Invalid, error),
    }
}
