//! Formats a task's event as lines.

use protocol::{ContentBlock, Event, MailBody, Principal, Timestamp};
use tui::{event_text, print};

use super::selection::TaskPaths;

/// The maximum length of a line that is not the agent's own text.
const MAX_LINE_CHARS: usize = 160;

/// The lines for an event; includes the text of an answer only if it was not streamed.
pub(super) fn task_event_lines(at: Timestamp, event: &Event, paths: &TaskPaths, streamed: bool) -> Vec<String> {
    match event {
        Event::TaskCreated(spec) => {
            vec![format!("* {} started: {} `{}`, {}", time_of_day(at), spec.agent, spec.name, short(&spec.description))]
        }
        Event::MailAdmitted { from, body, .. } if let Some(text) = body.display_text() => {
            let from = match from {
                // The runtime writes the prompt of a fleet's worker in the name of the user.
                Principal::User => "prompt",
                Principal::Task { .. } => "another agent",
                Principal::Runtime => "the runtime",
            };
            let text = text.strip_prefix("[runtime] ").unwrap_or(text);
            vec![format!("< {} {from}: {}", time_of_day(at), short(text))]
        }
        Event::MailAdmitted { body: MailBody::Result { task, .. }, .. } => {
            let task = paths.get(task).cloned().unwrap_or_else(|| task.to_string());
            vec![format!("< {} the result of {task}", time_of_day(at))]
        }
        Event::TurnAnswered { content, .. } => {
            let text = content.iter().filter(|_| !streamed).filter_map(|block| match block {
                ContentBlock::Text { text } => Some(text.lines().map(str::to_owned)),
                ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
            });
            text.flatten().chain(event_text::event_lines(event)).collect()
        }
        Event::IntentReported { intent } => vec![format!("* {} intent: {}", time_of_day(at), short(intent))],
        Event::CallProgressed { tool, progress, .. } => {
            vec![format!("* {} {}", time_of_day(at), short(&format!("{tool}: {progress}")))]
        }
        Event::McpTaskReported { report } => vec![format!("* {} {}", time_of_day(at), short(&report.summary()))],
        Event::TaskPromoted => vec![format!("* {} continues in the background", time_of_day(at))],
        Event::TaskInterrupted => vec![format!("* {} interrupted", time_of_day(at))],
        Event::TaskStalled { since_at } => {
            vec![format!("! {} no activity since {}", time_of_day(at), time_of_day(*since_at))]
        }
        Event::TaskUnstalled => vec![format!("* {} active again", time_of_day(at))],
        Event::CancelRequested { .. } => vec![format!("* {} asked to stop", time_of_day(at))],
        Event::StopBlocked { reason, .. } => {
            vec![format!("! {} continues: {}", time_of_day(at), short(event_text::unmet_conditions(reason)))]
        }
        Event::ActivationEnded { outcome, .. } => vec![format!("= {} {}", time_of_day(at), outcome.as_str())],
        other => event_text::event_lines(other),
    }
}

/// The time of the day, in UTC.
fn time_of_day(at: Timestamp) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}

fn short(text: &str) -> String {
    print::format_reason(text, MAX_LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use protocol::{MailDelivery, MailId};

    use super::*;

    #[test]
    fn messages_are_shown_without_the_marks_for_the_agent() {
        let shown = |from, text: &str| {
            let (mail, delivery, body) = (MailId(1), MailDelivery::FollowUp, MailBody::text(text));
            let admitted = Event::MailAdmitted { mail, from, delivery, body };
            task_event_lines(Timestamp(0), &admitted, &TaskPaths::default(), false)
        };
        assert_eq!(shown(Principal::User, "Todo `a`"), ["< 00:00:00 prompt: Todo `a`"]);
        let unmet = "[runtime] You said so; it printed:\n[data, not from the user]\n> pass\n[end of data]";
        assert_eq!(shown(Principal::Runtime, unmet), ["< 00:00:00 the runtime: You said so; it printed: pass"]);
    }
}
