//! What becomes of a request: the one place that knows every fault.

use std::time::Duration;

use super::trouble::RequestRefusal;
use super::{ProviderFault, StreamPoint, Unit};

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum RequestCourse {
    /// Nothing is ever said.
    Hang,
    /// The connection is closed.
    Close,
    /// It is answered with an error.
    Refuse(RequestRefusal),
    /// It is answered, with this wrong about the answer.
    Answer(Twist),
}

/// What is wrong about an answer, or about its bytes.
#[derive(Debug, Default)]
pub(super) struct Twist {
    /// The model that seems to answer.
    pub(super) model: Option<String>,
    /// Where the stream stops, and how.
    pub(super) stop: Option<(StreamPoint, StreamCut)>,
    /// How one event is malformed.
    pub(super) garble: Option<Garble>,
    /// How slowly it comes.
    pub(super) pace: Option<(Unit, Duration)>,
    /// What has no end.
    pub(super) flood: Option<Flood>,
}

/// How a stream stops before its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum StreamCut {
    /// The connection breaks.
    Cut,
    /// It ends as if it were complete.
    End,
}

/// How an event is malformed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Garble {
    /// It runs into the next.
    Sse,
    /// Its JSON has no end.
    Json,
}

/// What has no end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flood {
    /// The text.
    Text,
    /// A line of the stream.
    Line,
}

impl RequestCourse {
    /// The course of a request that meets this fault.
    pub(super) fn of(fault: Option<&ProviderFault>) -> RequestCourse {
        let usual = Twist::default();
        let Some(fault) = fault else {
            return RequestCourse::Answer(usual);
        };
        RequestCourse::Answer(match fault {
            ProviderFault::Hang => return RequestCourse::Hang,
            ProviderFault::Close => return RequestCourse::Close,
            ProviderFault::Status { code, retry_after } => {
                return RequestCourse::Refuse(RequestRefusal::of_status(*code, *retry_after));
            }
            ProviderFault::Quota(after) => return RequestCourse::Refuse(RequestRefusal::of_quota(*after)),
            ProviderFault::Html => return RequestCourse::Refuse(RequestRefusal::Html),
            ProviderFault::TooLong => return RequestCourse::Refuse(RequestRefusal::TOO_LONG),
            ProviderFault::Cut(point) => Twist { stop: Some((*point, StreamCut::Cut)), ..usual },
            ProviderFault::End(point) => Twist { stop: Some((*point, StreamCut::End)), ..usual },
            ProviderFault::BadSse => Twist { garble: Some(Garble::Sse), ..usual },
            ProviderFault::BadJson => Twist { garble: Some(Garble::Json), ..usual },
            ProviderFault::Model(name) => Twist { model: Some(name.clone()), ..usual },
            ProviderFault::Drip { unit, every } => Twist { pace: Some((*unit, *every)), ..usual },
            ProviderFault::Endless => Twist { flood: Some(Flood::Text), ..usual },
            ProviderFault::EndlessLine => Twist { flood: Some(Flood::Line), ..usual },
        })
    }
}
