//! Tool results that the kernel itself writes.

use protocol::{TaskId, ToolResult, ToolResultStatus};

pub(crate) fn interrupted() -> ToolResult {
    let text = "The process that ran this call ended before the call did. It may or may not have taken effect: \
                check before you repeat it.";
    ToolResult { status: ToolResultStatus::Interrupted, text: text.into() }
}

pub(crate) fn out_of_time() -> ToolResult {
    ToolResult {
        status: ToolResultStatus::Cancelled,
        text: "This call was cut short: there is time for one last answer only.".into(),
    }
}

pub(crate) fn cancelled() -> ToolResult {
    ToolResult { status: ToolResultStatus::Cancelled, text: "This call was cancelled before it ended.".into() }
}

pub(crate) fn started(name: &str, id: TaskId) -> ToolResult {
    let text = format!(
        "Started in the background as `{name}` ({id}). Continue with other work: its result is delivered to you when \
         it is ready, so do not poll."
    );
    ToolResult { status: ToolResultStatus::Done, text }
}
