//! What a model is told about calls that were cut short.

use protocol::{Answer, AnswerStatus};

pub(crate) fn interrupted() -> Answer {
    let text = "The process that ran this call ended before the call did. It may or may not have taken effect: \
                check before you repeat it.";
    Answer { status: AnswerStatus::Interrupted, text: text.into() }
}

pub(crate) fn out_of_time() -> Answer {
    Answer { status: AnswerStatus::Cancelled, text: "The time is up.".into() }
}

pub(crate) fn cancelled() -> Answer {
    Answer { status: AnswerStatus::Cancelled, text: "This call was cancelled before it ended.".into() }
}
