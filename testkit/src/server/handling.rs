//! How a request is handled: the one place that knows every fault.

use std::time::Duration;

use super::refusal::RequestRefusal;
use super::{ProviderFault, StreamPoint, Unit};

/// How a request is handled.
#[derive(Debug)]
pub(super) enum RequestHandling {
    /// It is never answered.
    Hang,
    /// The connection is closed.
    Close,
    /// It is answered with an error.
    Refuse(RequestRefusal),
    /// It is answered, with these defects.
    Answer(AnswerDefects),
}

/// The defects of an answer or its bytes.
#[derive(Debug, Default)]
pub(super) struct AnswerDefects {
    /// The model that claims to answer.
    pub(super) model: Option<String>,
    /// Where and how the stream stops.
    pub(super) stop: Option<(StreamPoint, StreamCut)>,
    /// How one event is malformed.
    pub(super) garble: Option<Garble>,
    /// How slowly it comes.
    pub(super) pace: Option<(Unit, Duration)>,
    /// What is endless.
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

/// What is endless.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flood {
    /// The text.
    Text,
    /// A line of the stream.
    Line,
}

impl RequestHandling {
    /// How a request with this fault is handled.
    pub(super) fn of(fault: Option<&ProviderFault>) -> RequestHandling {
        let default = AnswerDefects::default();
        let Some(fault) = fault else {
            return RequestHandling::Answer(default);
        };
        RequestHandling::Answer(match fault {
            ProviderFault::Hang => return RequestHandling::Hang,
            ProviderFault::Close => return RequestHandling::Close,
            ProviderFault::Status { code, retry_after } => {
                return RequestHandling::Refuse(RequestRefusal::of_status(*code, *retry_after));
            }
            ProviderFault::Quota(after) => return RequestHandling::Refuse(RequestRefusal::of_quota(*after)),
            ProviderFault::Html => return RequestHandling::Refuse(RequestRefusal::Html),
            ProviderFault::TooLong => return RequestHandling::Refuse(RequestRefusal::TOO_LONG),
            ProviderFault::Cut(point) => AnswerDefects { stop: Some((*point, StreamCut::Cut)), ..default },
            ProviderFault::End(point) => AnswerDefects { stop: Some((*point, StreamCut::End)), ..default },
            ProviderFault::BadSse => AnswerDefects { garble: Some(Garble::Sse), ..default },
            ProviderFault::BadJson => AnswerDefects { garble: Some(Garble::Json), ..default },
            ProviderFault::Model(name) => AnswerDefects { model: Some(name.clone()), ..default },
            ProviderFault::Drip { unit, every } => AnswerDefects { pace: Some((*unit, *every)), ..default },
            ProviderFault::Endless => AnswerDefects { flood: Some(Flood::Text), ..default },
            ProviderFault::EndlessLine => AnswerDefects { flood: Some(Flood::Line), ..default },
        })
    }
}
