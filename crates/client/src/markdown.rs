//! A session as readable Markdown.

use std::fmt::Write as _;

use protocol::{ContentBlock, Envelope, Event, Principal, TaskId, ToolResult, clip_middle};

/// The most bytes shown of one tool's input or answer.
const MAX_SHOWN_BYTES: usize = 4 * 1024;

/// The session's log as Markdown: messages, calls and answers.
pub fn session_markdown(log: &[Envelope]) -> String {
    let mut markdown =
        MarkdownTranscript { text: String::new(), root: log.first().map(|envelope| envelope.entry.task) };
    for envelope in log {
        markdown.add_event(envelope);
    }
    markdown.text
}

struct MarkdownTranscript {
    text: String,
    root: Option<TaskId>,
}

impl MarkdownTranscript {
    fn add_event(&mut self, envelope: &Envelope) {
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::SessionOpened(config) => {
                let (id, at) = (envelope.session, envelope.entry.at);
                self.add(format_args!("# Session {id}\n\nBegan {at} in `{}` with `{}`.", config.cwd, config.model));
            }
            Event::SessionForked { from } => self.add(format_args!("*Forked from {from}.*")),
            Event::MailAdmitted { from: Principal::User, body, .. } if let Some(text) = body.display_text() => {
                self.add(format_args!("## User\n\n{text}"));
            }
            Event::TurnAnswered { turn, content, .. } => {
                self.add_heading(task, format_args!("{turn}"));
                content.iter().for_each(|block| self.add_block(block));
            }
            Event::TurnFailed { turn, message, .. } => self.add(format_args!("*{turn} failed: {message}*")),
            Event::CallAnswered { call, answer, .. } => self.add_answer(&call.0, answer),
            Event::TaskCreated(spec) if spec.parent.is_some() => {
                self.add(format_args!("*Started {} `{}`: {}*", spec.agent, spec.name, spec.description));
            }
            Event::ActivationEnded { outcome, .. } => {
                self.add_heading(task, format_args!("ended: {}", outcome.as_str()));
            }
            Event::TaskInterrupted => self.add(format_args!("*Interrupted.*")),
            _other => {}
        }
    }

    fn add_heading(&mut self, task: TaskId, what: std::fmt::Arguments<'_>) {
        if Some(task) == self.root {
            self.add(format_args!("### {what}"));
        } else {
            self.add(format_args!("### {task}, {what}"));
        }
    }

    fn add_block(&mut self, block: &ContentBlock) {
        match block {
            ContentBlock::Text { text } => self.add(format_args!("{text}")),
            ContentBlock::Thinking { text } => self.add(format_args!("> {}", text.replace('\n', "\n> "))),
            ContentBlock::Call(call) => {
                let input = clip_middle(&call.input, MAX_SHOWN_BYTES);
                self.add(format_args!("**{}** `{}`\n\n{}", call.tool, call.id, fenced(&input)));
            }
            ContentBlock::Opaque { .. } => {}
        }
    }

    fn add_answer(&mut self, call: &str, answer: &ToolResult) {
        let status = if answer.status.is_error() { format!(", {}", answer.status.as_str()) } else { String::new() };
        let text = clip_middle(&answer.text, MAX_SHOWN_BYTES);
        self.add(format_args!("`{call}` answered{status}:\n\n{}", fenced(&text)));
    }

    fn add(&mut self, part: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _always = write!(self.text, "{part}\n\n");
    }
}

/// A code block whose fence no line of the text can close.
fn fenced(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_breaks_out_of_its_fence() {
        assert_eq!(fenced("x"), "```\nx\n```");
        assert_eq!(fenced("````\nx"), "`````\n````\nx\n`````");
    }
}
