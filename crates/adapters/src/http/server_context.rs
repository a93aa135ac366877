//! What every server over HTTP has: who may connect, what clients may use, and when their connections end.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access_guard::AccessGuard;
use super::body::{self, ApiResponse};
use super::connection_slots::ConnectionSlot;
use super::problem::HttpProblem;
use super::stream_end::StreamClosing;
use super::{AccessToken, HttpLimits};

/// Answers the requests of clients that may connect.
pub(crate) trait HttpResponder: Send + Sync + 'static {
    /// What the server shares with others.
    fn context(&self) -> &HttpServerContext;

    /// Answers one request.
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = Result<ApiResponse, HttpProblem>> + Send;
}

/// Who may connect, what clients may use, and when their connections end.
pub(crate) struct HttpServerContext {
    guard: AccessGuard,
    pub(crate) limits: HttpLimits,
    streams: Arc<Semaphore>,
    pub(crate) closing: StreamClosing,
}

impl HttpServerContext {
    /// For clients that send this token to this port.
    pub(crate) fn new(token: AccessToken, port: u16, limits: HttpLimits) -> HttpServerContext {
        HttpServerContext {
            guard: AccessGuard::new(token, port),
            streams: Arc::new(Semaphore::new(limits.streams)),
            limits,
            closing: StreamClosing::default(),
        }
    }

    /// A place among the open streams.
    pub(crate) fn stream_permit(&self) -> Result<OwnedSemaphorePermit, HttpProblem> {
        Arc::clone(&self.streams).try_acquire_owned().map_err(|_full| {
            let detail = format!("the limit of {} open streams is reached", self.limits.streams);
            HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail).remedy("close one")
        })
    }

    fn admit(&self, request: &Request<Incoming>, slot: &ConnectionSlot) -> Result<(), HttpProblem> {
        self.guard.check(request)?;
        if slot.admit() {
            return Ok(());
        }
        let detail = format!("the limit of {} open connections is reached", self.limits.connections);
        Err(HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, detail).remedy("close one"))
    }
}

/// Answers one request of a connection.
pub(super) async fn respond<R: HttpResponder>(
    responder: &R,
    request: Request<Incoming>,
    slot: &ConnectionSlot,
) -> ApiResponse {
    let reply = match responder.context().admit(&request, slot) {
        Ok(()) => responder.handle(request).await,
        Err(problem) => Err(problem),
    };
    body::with_security_headers(reply.unwrap_or_else(HttpProblem::into_response))
}
