//! Request and response bodies.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::HttpLimits;
use super::problem::HttpProblem;

/// A response to the client.
pub(super) type ApiResponse = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A body with known content.
pub(super) fn full_body(bytes: impl Into<Bytes>) -> UnsyncBoxBody<Bytes, Infallible> {
    Full::new(bytes.into()).boxed_unsync()
}

/// A JSON response.
pub(super) fn json_response(status: StatusCode, value: &impl serde::Serialize) -> Result<ApiResponse, HttpProblem> {
    let mut reply = Response::new(full_body(serde_json::to_vec(value).map_err(HttpProblem::internal)?));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(reply)
}

/// A response that is JSON text.
pub(super) fn json_text(text: &'static str) -> ApiResponse {
    let mut reply = Response::new(full_body(Bytes::from_static(text.as_bytes())));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// An empty response.
pub(super) fn no_content() -> ApiResponse {
    let mut reply = Response::new(full_body(Bytes::new()));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply
}

/// An event stream. More is requested from `pieces` only when the client has read what there is.
pub(super) fn event_stream(pieces: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> ApiResponse {
    use futures_util::StreamExt;

    let frames = pieces.map(|piece| Ok(Frame::data(piece)));
    let mut reply = Response::new(StreamBody::new(frames).boxed_unsync());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    reply
}

/// Reads a request body, unless it is too large or takes too long.
pub(super) async fn read_body(body: Incoming, limits: &HttpLimits) -> Result<Bytes, HttpProblem> {
    let whole = Limited::new(body, limits.max_body_bytes).collect();
    match tokio::time::timeout(limits.body_time, whole).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let detail = format!("the body is larger than {} bytes", limits.max_body_bytes);
            Err(HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
        }
        Ok(Err(error)) => Err(HttpProblem::bad_request(format!("the body cannot be read: {error}"))),
        Err(_elapsed) => Err(HttpProblem::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}
