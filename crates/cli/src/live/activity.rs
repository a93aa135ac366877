//! What an agent does, in the words of its last event that tells.

use protocol::{AskSubject, ContentBlock, Event};

use crate::run::event_text::{describe_parking, describe_retry, main_argument, unmet_conditions};

/// What is asked, in one line.
pub(super) fn describe_ask(subject: &AskSubject) -> String {
    match subject {
        AskSubject::Permission { tool, input, .. } => format!("{tool} {}", main_argument(input)),
        AskSubject::Question { question, .. } => question.clone(),
        AskSubject::Plan { summary, .. } => format!("the plan is made: {summary}"),
    }
}

/// What an agent does from this event on, if it tells.
pub(super) fn describe_activity(event: &Event) -> Option<String> {
    match event {
        Event::IntentReported { intent } => Some(intent.clone()),
        Event::TurnAnswered { content, .. } => content.iter().rev().find_map(|block| match block {
            ContentBlock::Call(call) => Some(format!("{} {}", call.tool, main_argument(&call.input))),
            ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
        }),
        Event::ActivationStarted { .. } => Some("thinks".into()),
        Event::AskDecided { .. } => Some("goes on".into()),
        Event::TaskParked { until_at, why } => Some(format!("waits for {}", describe_parking(*until_at, *why))),
        Event::BudgetAwaited => Some("queued: what is left of the budget is reserved for requests under way".into()),
        Event::TurnBegun { .. } => Some("thinks".into()),
        Event::TaskStalled { .. } => Some("has not been heard of for a while".into()),
        Event::TurnFailed { message, retry: Some(retry), .. } => Some(format!("{message}, {}", describe_retry(*retry))),
        Event::StopBlocked { reason, .. } => Some(format!("not done yet: {}", unmet_conditions(reason))),
        Event::WorkSealed { .. } => Some("keeps what it changed".into()),
        _other => None,
    }
}
