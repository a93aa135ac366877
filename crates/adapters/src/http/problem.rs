//! Error responses: problems as in RFC 9457, with a remedy.

use client::{ClientError, StoreError};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use protocol::api::RefusalKind;
use rpc::{CallError, ErrorObject};
use schemars::JsonSchema;
use serde::Serialize;
use server::{HostError, OpenRefusal};

use super::body::{self, ApiResponse};

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct HttpProblem {
    /// The problem type; always `about:blank`, because the status says enough.
    r#type: &'static str,
    /// The name of the status.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened, for people.
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// Why the session refused it, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<RefusalKind>,
    /// The methods that this path allows.
    #[serde(skip)]
    allow: Option<String>,
}

impl HttpProblem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> HttpProblem {
        HttpProblem {
            r#type: "about:blank",
            title: status.canonical_reason().unwrap_or("problem"),
            status: status.as_u16(),
            detail: detail.into(),
            remedy: None,
            kind: None,
            allow: None,
        }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> HttpProblem {
        HttpProblem::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> HttpProblem {
        HttpProblem::new(StatusCode::NOT_FOUND, detail)
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> HttpProblem {
        HttpProblem::new(StatusCode::CONFLICT, detail)
    }

    pub(crate) fn internal(detail: impl std::fmt::Display) -> HttpProblem {
        HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, detail.to_string())
            .remedy("`bosun doctor` looks for the cause")
    }

    pub(crate) fn remedy(self, remedy: impl Into<String>) -> HttpProblem {
        HttpProblem { remedy: Some(remedy.into()), ..self }
    }

    pub(crate) fn allow(self, verbs: String) -> HttpProblem {
        HttpProblem { allow: Some(verbs), ..self }
    }

    /// Converts the problem into a response.
    pub(crate) fn into_response(self) -> ApiResponse {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let text = serde_json::to_vec(&self).unwrap_or_default();
        let mut reply = Response::new(body::full_body(text));
        *reply.status_mut() = status;
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(verbs) = self.allow.and_then(|verbs| HeaderValue::try_from(verbs).ok()) {
            headers.insert(ALLOW, verbs);
        }
        reply
    }
}

impl From<OpenRefusal> for HttpProblem {
    fn from(refusal: OpenRefusal) -> HttpProblem {
        let problem = HttpProblem::new(StatusCode::UNPROCESSABLE_ENTITY, refusal.words);
        match refusal.hint {
            Some(hint) => problem.remedy(hint),
            None => problem,
        }
    }
}

impl From<HostError> for HttpProblem {
    fn from(error: HostError) -> HttpProblem {
        match error {
            HostError::Closing => HttpProblem::conflict(error.to_string()).remedy("start it again"),
            HostError::Full(_) => HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, error.to_string())
                .remedy("stop one: POST /v1/sessions/{session}/stop"),
            HostError::Refused(refusal) => refusal.into(),
            HostError::Prompt(error) => error.into(),
            HostError::Rejected(_) | HostError::Failed(_) => HttpProblem::internal(error),
        }
    }
}

impl From<StoreError> for HttpProblem {
    fn from(error: StoreError) -> HttpProblem {
        match &error {
            StoreError::Missing { id, .. } => HttpProblem::not_found(format!("there is no session {id}"))
                .remedy("GET /v1/sessions lists all sessions"),
            StoreError::Owned { .. } | StoreError::Exists { .. } | StoreError::Newer { .. } => {
                HttpProblem::conflict(error.to_string())
            }
            _other => HttpProblem::internal(error),
        }
    }
}

impl From<ClientError> for HttpProblem {
    fn from(error: ClientError) -> HttpProblem {
        match error {
            ClientError::Store(error) => error.into(),
            ClientError::Todos(_) | ClientError::Lists(_) | ClientError::WrongScope(_) | ClientError::Paused(_) => {
                from_refusal(error.into())
            }
            ClientError::Refused(object) => from_refusal(object),
            ClientError::NotRunning(id) => HttpProblem::conflict("no process runs the session")
                .remedy(format!("resume it first: POST /v1/sessions/{id}/resume")),
            ClientError::NoAnswer { .. } => HttpProblem::new(
                StatusCode::GATEWAY_TIMEOUT,
                "the session does not answer; the request may still succeed",
            )
            .remedy("check the session with GET"),
            ClientError::Ended { closed, .. } => CallError::Closed(closed).into(),
            ClientError::Call(error) => error.into(),
            ClientError::NoSession { .. } | ClientError::Ambiguous { .. } => {
                HttpProblem::not_found(error.to_string()).remedy("GET /v1/sessions lists all sessions")
            }
        }
    }
}

impl From<CallError> for HttpProblem {
    fn from(error: CallError) -> HttpProblem {
        match error {
            CallError::Refused(object) => from_refusal(object),
            CallError::TooLarge { .. } => HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
            CallError::Closed(_) => HttpProblem::conflict(format!("{error}; the request may have taken effect"))
                .remedy("check the session with GET, and try again"),
            CallError::Params(_) | CallError::Answer(_) => HttpProblem::internal(error),
        }
    }
}

/// Converts a session's refusal.
pub(crate) fn from_refusal(object: ErrorObject) -> HttpProblem {
    let kind = object.refusal_kind();
    let status = match (kind, object.code) {
        (Some(RefusalKind::NoTask | RefusalKind::NoAsk | RefusalKind::NoSession | RefusalKind::NoItem), _) => {
            StatusCode::NOT_FOUND
        }
        (Some(RefusalKind::Invalid | RefusalKind::NoRule), _) => StatusCode::UNPROCESSABLE_ENTITY,
        (Some(_state), _) => StatusCode::CONFLICT,
        (None, ErrorObject::BAD_PARAMS) => StatusCode::BAD_REQUEST,
        (None, ErrorObject::UNKNOWN_METHOD) => return version_mismatch(),
        (None, _) => return HttpProblem::internal(object.message),
    };
    let remedy = object.hint().map(str::to_owned);
    HttpProblem { kind, remedy, ..HttpProblem::new(status, object.message) }
}

fn version_mismatch() -> HttpProblem {
    HttpProblem::conflict("the process that runs the session has another version and does not support this")
        .remedy("stop that process and resume the session here")
}
