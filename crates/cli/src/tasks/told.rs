//! An event of a task in lines for people.

use protocol::{At, Block, Body, Event, Origin};

use super::place::Paths;
use crate::print;
use crate::run::show;

/// Most letters of a line that is not the agent's own.
const SHORT: usize = 160;

/// The lines that an event is worth; the words of an answer only if they were not shown as they came.
pub(super) fn told(at: At, event: &Event, paths: &Paths, streamed: bool) -> Vec<String> {
    match event {
        Event::TaskCreated(spec) => {
            vec![format!("* {} started: {} `{}`, {}", clock(at), spec.agent, spec.name, short(&spec.description))]
        }
        Event::MailAdmitted { from, body, .. } if let Some(text) = body.shown() => {
            let from = match from {
                Origin::User => "the user",
                Origin::Task { .. } => "another agent",
                Origin::Runtime => "the runtime",
            };
            vec![format!("< {} {from}: {}", clock(at), short(text))]
        }
        Event::MailAdmitted { body: Body::Result { task, .. }, .. } => {
            let whose = paths.get(task).cloned().unwrap_or_else(|| task.to_string());
            vec![format!("< {} the result of {whose}", clock(at))]
        }
        Event::TurnAnswered { content, .. } => {
            let said = content.iter().filter(|_| !streamed).filter_map(|block| match block {
                Block::Text { text } => Some(text.lines().map(str::to_owned)),
                Block::Thinking { .. } | Block::Call(_) | Block::Opaque { .. } => None,
            });
            said.flatten().chain(show::lines(event)).collect()
        }
        Event::IntentReported { intent } => vec![format!("* {} intent: {}", clock(at), short(intent))],
        Event::TaskPromoted => vec![format!("* {} goes on in the background", clock(at))],
        Event::TaskInterrupted => vec![format!("* {} interrupted", clock(at))],
        Event::TaskStalled { since_at } => vec![format!("! {} no sign of life since {}", clock(at), clock(*since_at))],
        Event::TaskStirred => vec![format!("* {} shows signs of life again", clock(at))],
        Event::CancelRequested { .. } => vec![format!("* {} is asked to stop", clock(at))],
        Event::StopHeld { reason, .. } => vec![format!("! {} goes on: {}", clock(at), short(show::missing(reason)))],
        Event::ActivationEnded { outcome, .. } => vec![format!("= {} {}", clock(at), outcome.word())],
        other => show::lines(other),
    }
}

/// The time of the day, in UTC.
fn clock(at: At) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}

fn short(text: &str) -> String {
    print::one_line(text, SHORT)
}
