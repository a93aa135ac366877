//! Why a request failed: a JSON-RPC error, and the HTTP status that a client without a session gets with it.

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::revision::{SESSION_VERSIONS, STATELESS_VERSION, TASKS_EXTENSION};

/// The code for headers that contradict the body.
const HEADER_MISMATCH: i64 = -32020;

/// The code for a request that needs more than its client can do.
const MISSING_CAPABILITY: i64 = -32021;

/// The code for a revision that the server does not speak.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq)]
pub struct McpFault {
    error: ErrorObject,
    stage: FaultStage,
}

/// When a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultStage {
    /// Before its method was called.
    Reading,
    /// In its method.
    Answering,
}

impl McpFault {
    fn new(code: i64, message: impl Into<String>) -> McpFault {
        McpFault { error: ErrorObject::new(code, message), stage: FaultStage::Answering }
    }

    fn with_data(self, data: Value) -> McpFault {
        McpFault { error: ErrorObject { data: Some(data), ..self.error }, ..self }
    }

    /// The request is not one of this protocol.
    pub(crate) fn malformed(error: ErrorObject) -> McpFault {
        McpFault { error, stage: FaultStage::Reading }
    }

    /// The envelope of the request is incomplete.
    pub(crate) fn incomplete(what: impl Into<String>) -> McpFault {
        McpFault { stage: FaultStage::Reading, ..McpFault::new(ErrorObject::BAD_PARAMS, what) }
    }

    /// The parameters are not valid.
    pub fn invalid_params(what: impl Into<String>) -> McpFault {
        McpFault::new(ErrorObject::BAD_PARAMS, what)
    }

    /// There is no resource with this URI.
    pub fn unknown_resource(uri: &str) -> McpFault {
        McpFault::invalid_params("there is no such resource").with_data(json!({ "uri": uri }))
    }

    /// There is no task with this id.
    pub fn unknown_task(id: &str) -> McpFault {
        McpFault::invalid_params(format!("there is no task `{}`", protocol::clip_middle(id, 100)))
    }

    /// The server has no such method.
    pub(crate) fn unknown_method(name: &str) -> McpFault {
        let name = protocol::clip_middle(name, 100);
        McpFault { error: ErrorObject::unknown_method(&name), stage: FaultStage::Reading }
    }

    /// The server failed.
    pub fn internal(why: impl std::fmt::Display) -> McpFault {
        McpFault::new(ErrorObject::INTERNAL, why.to_string())
    }

    /// A header contradicts the body, or is missing.
    pub(crate) fn header_mismatch(what: impl Into<String>) -> McpFault {
        McpFault { stage: FaultStage::Reading, ..McpFault::new(HEADER_MISMATCH, what) }
    }

    /// The client did not declare what the request needs: capabilities in the form in which clients declare them.
    pub fn missing_capability(required: Value) -> McpFault {
        let message = "the client did not declare a capability that this request needs";
        let data = json!({ "requiredCapabilities": required });
        McpFault { stage: FaultStage::Reading, ..McpFault::new(MISSING_CAPABILITY, message).with_data(data) }
    }

    /// The client did not declare the extension for tasks.
    pub(crate) fn missing_tasks() -> McpFault {
        McpFault::missing_capability(json!({ "extensions": { TASKS_EXTENSION: {} } }))
    }

    /// The server does not speak this revision.
    pub(crate) fn unsupported_version(requested: &str) -> McpFault {
        let requested = protocol::clip_middle(requested, 100);
        let supported = supported_versions();
        let message = format!("the revision `{requested}` is not supported");
        let data = json!({ "supported": supported, "requested": requested });
        McpFault { stage: FaultStage::Reading, ..McpFault::new(UNSUPPORTED_VERSION, message).with_data(data) }
    }

    /// The error for the client.
    pub(crate) fn into_error(self) -> ErrorObject {
        self.error
    }

    /// The status of an HTTP response to a request without a session.
    pub(crate) fn http_status(&self) -> u16 {
        match (self.stage, self.error.code) {
            (FaultStage::Reading, ErrorObject::UNKNOWN_METHOD) => 404,
            (FaultStage::Reading, _) => 400,
            (FaultStage::Answering, _) => 200,
        }
    }
}

/// All revisions, newest first.
pub(crate) fn supported_versions() -> Vec<&'static str> {
    std::iter::once(STATELESS_VERSION).chain(SESSION_VERSIONS).collect()
}

impl From<ErrorObject> for McpFault {
    fn from(error: ErrorObject) -> McpFault {
        McpFault { error, stage: FaultStage::Answering }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_that_were_not_called_have_an_http_status_of_their_own() {
        let table = [
            (McpFault::unknown_method("a"), -32601, 404),
            (McpFault::incomplete("a"), -32602, 400),
            (McpFault::invalid_params("a"), -32602, 200),
            (McpFault::header_mismatch("a"), -32020, 400),
            (McpFault::missing_tasks(), -32021, 400),
            (McpFault::unsupported_version("1"), -32022, 400),
            (McpFault::internal("a"), -32603, 200),
            (McpFault::malformed(ErrorObject::parse("a")), -32700, 400),
        ];
        for (fault, code, status) in table {
            assert_eq!((fault.error.code, fault.http_status()), (code, status), "{fault:?}");
        }
        let data = McpFault::unsupported_version("1").into_error().data.unwrap();
        assert_eq!((&data["requested"], &data["supported"][0]), (&json!("1"), &json!("2026-07-28")));
    }
}
