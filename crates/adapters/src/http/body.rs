//! Request and response bodies.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::HttpLimits;
use super::problem::HttpProblem;

/// A response to the client.
pub(crate) type ApiResponse = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A body with known content.
pub(crate) fn full_body(bytes: impl Into<Bytes>) -> UnsyncBoxBody<Bytes, Infallible> {
    Full::new(bytes.into()).boxed_unsync()
}

/// A JSON response.
pub(crate) fn json_response(status: StatusCode, value: &impl serde::Serialize) -> Result<ApiResponse, HttpProblem> {
    Ok(json_bytes(status, serde_json::to_vec(value).map_err(HttpProblem::internal)?))
}

/// A response that is JSON already.
pub(crate) fn json_bytes(status: StatusCode, json: impl Into<Bytes>) -> ApiResponse {
    let mut reply = Response::new(full_body(json));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// A response that is JSON text.
pub(crate) fn json_text(text: &'static str) -> ApiResponse {
    json_bytes(StatusCode::OK, text.as_bytes())
}

/// An empty response.
pub(crate) fn no_content() -> ApiResponse {
    let mut reply = Response::new(full_body(Bytes::new()));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply
}

/// An event stream. More is requested from `pieces` only when the client has read what there is.
pub(crate) fn event_stream(pieces: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> ApiResponse {
    use futures_util::StreamExt;

    let frames = pieces.map(|piece| Ok(Frame::data(piece)));
    let mut reply = Response::new(StreamBody::new(frames).boxed_unsync());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    reply
}

/// Adds the headers that every response has.
pub(crate) fn with_security_headers(mut reply: ApiResponse) -> ApiResponse {
    let headers = reply.headers_mut();
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    reply
}

/// Whether a request's body is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads a request body, unless it is too large or takes too long.
pub(crate) async fn read_body(body: Incoming, limits: &HttpLimits) -> Result<Bytes, HttpProblem> {
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
