//! What becomes of a request: the one place that knows every fault.

use std::time::Duration;

use super::trouble::Trouble;
use super::{Fault, Point, Unit};

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum Course {
    /// Nothing is ever said.
    Hang,
    /// The connection is closed.
    Close,
    /// It is answered with an error.
    Refuse(Trouble),
    /// It is answered, with this wrong about the answer.
    Answer(Twist),
}

/// What is wrong about an answer, or about its bytes.
#[derive(Debug, Default)]
pub(super) struct Twist {
    /// The model that seems to answer.
    pub(super) model: Option<String>,
    /// Where the stream stops, and how.
    pub(super) stop: Option<(Point, Stop)>,
    /// How one event is malformed.
    pub(super) garble: Option<Garble>,
    /// How slowly it comes.
    pub(super) pace: Option<(Unit, Duration)>,
    /// What has no end.
    pub(super) flood: Option<Flood>,
}

/// How a stream stops before its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stop {
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

impl Course {
    /// The course of a request that meets this fault.
    pub(super) fn of(fault: Option<&Fault>) -> Course {
        let usual = Twist::default();
        let Some(fault) = fault else {
            return Course::Answer(usual);
        };
        Course::Answer(match fault {
            Fault::Hang => return Course::Hang,
            Fault::Close => return Course::Close,
            Fault::Status { code, retry_after } => return Course::Refuse(Trouble::of_status(*code, *retry_after)),
            Fault::Quota(after) => return Course::Refuse(Trouble::of_quota(*after)),
            Fault::Html => return Course::Refuse(Trouble::Html),
            Fault::TooLong => return Course::Refuse(Trouble::TOO_LONG),
            Fault::Cut(point) => Twist { stop: Some((*point, Stop::Cut)), ..usual },
            Fault::End(point) => Twist { stop: Some((*point, Stop::End)), ..usual },
            Fault::BadSse => Twist { garble: Some(Garble::Sse), ..usual },
            Fault::BadJson => Twist { garble: Some(Garble::Json), ..usual },
            Fault::Model(name) => Twist { model: Some(name.clone()), ..usual },
            Fault::Drip { unit, every } => Twist { pace: Some((*unit, *every)), ..usual },
            Fault::Endless => Twist { flood: Some(Flood::Text), ..usual },
            Fault::EndlessLine => Twist { flood: Some(Flood::Line), ..usual },
        })
    }
}
