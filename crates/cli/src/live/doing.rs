//! What an agent does, in the words of its last event that tells.

use protocol::{Block, Event, Subject};

use crate::run::show::{again, gist, missing, parked};

/// What is asked, in one line.
pub(super) fn asked(subject: &Subject) -> String {
    match subject {
        Subject::Permission { tool, input, .. } => format!("{tool} {}", gist(input)),
        Subject::Question { question, .. } => question.clone(),
        Subject::Plan { summary, .. } => format!("the plan is made: {summary}"),
    }
}

/// What an agent does from this event on, if it tells.
pub(super) fn doing(event: &Event) -> Option<String> {
    match event {
        Event::IntentReported { intent } => Some(intent.clone()),
        Event::TurnAnswered { content, .. } => content.iter().rev().find_map(|block| match block {
            Block::Call(call) => Some(format!("{} {}", call.tool, gist(&call.input))),
            Block::Text { .. } | Block::Thinking { .. } | Block::Opaque { .. } => None,
        }),
        Event::ActivationStarted { .. } => Some("thinks".into()),
        Event::AskDecided { .. } => Some("goes on".into()),
        Event::TaskParked { until_at, why } => Some(format!("waits for {}", parked(*until_at, *why))),
        Event::BudgetAwaited => Some("queued: what is left of the budget is reserved for requests under way".into()),
        Event::TurnBegun { .. } => Some("thinks".into()),
        Event::TaskStalled { .. } => Some("has not been heard of for a while".into()),
        Event::TurnFailed { message, retry: Some(retry), .. } => Some(format!("{message}, {}", again(*retry))),
        Event::StopHeld { reason, .. } => Some(format!("not done yet: {}", missing(reason))),
        Event::WorkSealed { .. } => Some("keeps what it changed".into()),
        _other => None,
    }
}
