//! Describes an agent's current activity from its last relevant event.

use protocol::{AskSubject, ContentBlock, Event};

use crate::event_text::{describe_parking, describe_retry, main_argument, unmet_conditions};

/// The subject of an ask in one line.
pub(super) fn describe_ask(subject: &AskSubject) -> String {
    match subject {
        AskSubject::Permission { tool, input, .. } => format!("{tool} {}", main_argument(input)),
        AskSubject::Question { question, .. } => question.clone(),
        AskSubject::Plan { summary, .. } => format!("plan ready: {summary}"),
    }
}

/// The agent's activity after this event, if the event determines it.
pub(super) fn describe_activity(event: &Event) -> Option<String> {
    match event {
        Event::IntentReported { intent } => Some(intent.clone()),
        Event::CallProgressed { tool, progress, .. } => Some(format!("{tool}: {progress}")),
        Event::McpTaskReported { report } => Some(report.summary()),
        Event::TurnAnswered { content, .. } => content.iter().rev().find_map(|block| match block {
            ContentBlock::Call(call) => Some(format!("{} {}", call.tool, main_argument(&call.input))),
            ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        }),
        Event::ActivationStarted { .. } => Some("thinking".into()),
        Event::AskDecided { .. } => Some("continuing".into()),
        Event::TaskParked { until_at, why } => Some(format!("waiting for {}", describe_parking(*until_at, *why))),
        Event::BudgetAwaited => Some("queued: the rest of the budget is reserved for running requests".into()),
        Event::TurnBegun { .. } => Some("thinking".into()),
        Event::TaskStalled { .. } => Some("no activity for a while".into()),
        Event::TurnFailed { message, retry: Some(retry), .. } => Some(format!("{message}, {}", describe_retry(*retry))),
        Event::StopBlocked { reason, .. } => Some(format!("not done yet: {}", unmet_conditions(reason))),
        Event::WorkSealed { .. } => Some("saving its changes".into()),
        _other => None,
    }
}
