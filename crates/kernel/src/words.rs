//! What a model is told about calls that were cut short.

use protocol::{Answer, AnswerStatus, TaskId};

pub(crate) fn interrupted() -> Answer {
    let text = "The process that ran this call ended before the call did. It may or may not have taken effect: \
                check before you repeat it.";
    Answer { status: AnswerStatus::Interrupted, text: text.into() }
}

pub(crate) fn out_of_time() -> Answer {
    Answer {
        status: AnswerStatus::Cancelled,
        text: "This call was cut short: there is time for one last answer only.".into(),
    }
}

pub(crate) fn cancelled() -> Answer {
    Answer { status: AnswerStatus::Cancelled, text: "This call was cancelled before it ended.".into() }
}

pub(crate) fn started(name: &str, id: TaskId) -> Answer {
    let text = format!(
        "Started in the background as `{name}` ({id}). Go on with other work: its result reaches you by itself when it \
         is there, so do not poll."
    );
    Answer { status: AnswerStatus::Done, text }
}
