//! Recent tool calls: a row for each answered call, and the whole call on request.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use protocol::{CallId, TaskId, ToolCallRequest, ToolResult, ToolResultStatus, clip_middle, tool_name};
use serde_json::Value;

use super::call_arguments;
use super::text::{StyledRow, StyledSpan, truncate, width};
use crate::escape::escape_invisible;
use crate::event_text;
use crate::print;
use crate::style::TextRole;

/// How many calls can be shown again.
const MAX_CALLS: usize = 100;

/// Separates a call from its result, which would otherwise read as an argument.
const SEPARATOR: &str = " · ";

/// Maximum bytes kept of a call's input.
const MAX_INPUT_BYTES: usize = 256 * 1024;

/// The newest calls of a session, oldest first.
#[derive(Debug, Default)]
pub(super) struct CallHistory(VecDeque<CallHistoryEntry>);

#[derive(Debug)]
struct CallHistoryEntry {
    task: TaskId,
    call: ToolCallRequest,
    progress: CallProgress,
}

#[derive(Debug)]
enum CallProgress {
    Requested,
    Started(Instant),
    Answered(ToolResult, Option<Duration>),
}

impl CallHistory {
    /// Adds a call requested by a model.
    pub(super) fn add_requested(&mut self, task: TaskId, call: &ToolCallRequest) {
        let call = ToolCallRequest { input: clip_middle(&call.input, MAX_INPUT_BYTES), ..call.clone() };
        self.0.push_back(CallHistoryEntry { task, call, progress: CallProgress::Requested });
        self.0.drain(..self.0.len().saturating_sub(MAX_CALLS));
    }

    /// Records that a call has started.
    pub(super) fn mark_started(&mut self, task: TaskId, id: &CallId, now: Instant) {
        if let Some(entry) = self.find(task, id) {
            entry.progress = CallProgress::Started(now);
        }
    }

    /// Records the result of a call.
    pub(super) fn mark_answered(&mut self, task: TaskId, id: &CallId, answer: &ToolResult, now: Instant) {
        let Some(entry) = self.find(task, id) else { return };
        let duration = match entry.progress {
            CallProgress::Started(started_at) => Some(now.duration_since(started_at)),
            CallProgress::Requested | CallProgress::Answered(..) => None,
        };
        entry.progress = CallProgress::Answered(answer.clone(), duration);
    }

    /// The longest-running call with its start, and the number of other running calls.
    pub(super) fn longest_running(&self) -> Option<(String, Instant, usize)> {
        let mut running = self.0.iter().filter_map(|entry| match entry.progress {
            CallProgress::Started(started_at) => Some((&entry.call, started_at)),
            CallProgress::Requested | CallProgress::Answered(..) => None,
        });
        let (call, started_at) = running.next()?;
        Some((call_title(call), started_at, running.count()))
    }

    /// The row for the newest answer to a call.
    pub(super) fn answer_row(&self, task: TaskId, id: &CallId, prefix: &str, columns: usize) -> Option<StyledRow> {
        let entry = self.0.iter().rev().find(|entry| entry.task == task && entry.call.id == *id)?;
        let CallProgress::Answered(answer, duration) = &entry.progress else { return None };
        let (role, mut result) = describe_result(&entry.call, answer);
        if let Some(duration) = duration.filter(|duration| *duration >= Duration::from_millis(100)) {
            result += &format!(" {}", format_duration(duration));
        }
        let lead = format!("• {prefix}");
        let result = truncate(&result, columns / 2);
        let title_width = columns.saturating_sub(width(&lead) + width(&result) + width(SEPARATOR));
        let title = truncate(&call_title(&entry.call), title_width);
        Some(vec![
            StyledSpan::plain(&lead),
            StyledSpan::new(TextRole::Strong, &title),
            StyledSpan::plain(SEPARATOR),
            StyledSpan::new(role, &result),
        ])
    }

    /// The whole call made `ago` calls ago; 1 is the newest.
    pub(super) fn full_rows(&self, ago: usize, columns: usize) -> Option<Vec<StyledRow>> {
        let entry = self.0.iter().rev().nth(ago.checked_sub(1)?)?;
        let heading = vec![StyledSpan::plain("• "), StyledSpan::new(TextRole::Strong, &entry.call.tool)];
        let mut rows = vec![heading];
        rows.extend(call_arguments::call_rows(&entry.call.input, columns));
        match &entry.progress {
            CallProgress::Requested => rows.push(vec![StyledSpan::new(TextRole::Dim, "  (not started)")]),
            CallProgress::Started(_) => rows.push(vec![StyledSpan::new(TextRole::Dim, "  (running)")]),
            CallProgress::Answered(answer, _) => {
                rows.push(vec![StyledSpan::new(TextRole::Dim, &format!("  answer: {}", answer.status.as_str()))]);
                rows.extend(call_arguments::text_rows(answer.text.trim_end(), columns));
            }
        }
        Some(rows)
    }

    fn find(&mut self, task: TaskId, id: &CallId) -> Option<&mut CallHistoryEntry> {
        self.0.iter_mut().rev().find(|entry| entry.task == task && entry.call.id == *id)
    }
}

/// The tool and its main argument.
pub(super) fn call_title(call: &ToolCallRequest) -> String {
    let argument = print::one_line(&escape_invisible(&event_text::main_argument(&call.input)), 300);
    format!("{} {argument}", call.tool).trim_end().to_owned()
}

fn describe_result(call: &ToolCallRequest, answer: &ToolResult) -> (TextRole, String) {
    let reason = || print::format_reason(&answer.text, 200);
    match answer.status {
        ToolResultStatus::Done => match (changed_lines(call), shell_failure(call, answer)) {
            (_, Some(failure)) => (TextRole::Bad, failure),
            (Some((added, removed)), None) => (TextRole::Good, format!("+{added} −{removed}")),
            (None, None) => (TextRole::Good, "ok".into()),
        },
        ToolResultStatus::Denied => (TextRole::Bad, "not permitted".into()),
        ToolResultStatus::Refused => (TextRole::Bad, format!("refused: {}", reason())),
        ToolResultStatus::Broken => (TextRole::Bad, format!("broken: {}", reason())),
        ToolResultStatus::Interrupted => (TextRole::Bad, "interrupted".into()),
        ToolResultStatus::Cancelled => (TextRole::Bad, "stopped".into()),
    }
}

/// The exit message of a command that failed.
fn shell_failure(call: &ToolCallRequest, answer: &ToolResult) -> Option<String> {
    let last = answer.text.lines().next_back()?;
    let note = last.strip_prefix('[')?.strip_suffix(']')?;
    let failed = call.tool == tool_name::SHELL && note != "no output" && !note.starts_with("left behind");
    failed.then(|| note.split([';', ',']).next().unwrap_or(note).to_owned())
}

/// How many lines a call adds and removes.
fn changed_lines(call: &ToolCallRequest) -> Option<(usize, usize)> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    match call.tool.as_str() {
        tool_name::EDIT => {
            let (old, new): (Vec<_>, Vec<_>) = (text("old")?.lines().collect(), text("new")?.lines().collect());
            let count_equal =
                |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
            let prefix = count_equal(&mut old.iter().zip(&new));
            let suffix = count_equal(&mut old[prefix..].iter().rev().zip(new[prefix..].iter().rev()));
            Some((new.len() - prefix - suffix, old.len() - prefix - suffix))
        }
        tool_name::CREATE => Some((text("content")?.lines().count(), 0)),
        tool_name::APPLY_PATCH => {
            let lines = |mark: char| text("patch").map(|patch| patch.lines().filter(|l| l.starts_with(mark)).count());
            Some((lines('+')?, lines('-')?))
        }
        _other => None,
    }
}

/// Formats a duration for users.
pub(super) fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::chat::text::{paint, row_width};
    use crate::style::Style;

    fn line(tool: &str, input: &str, status: ToolResultStatus, text: &str, columns: usize) -> String {
        let (mut calls, task, id, now) =
            (CallHistory::default(), TaskId::new(Uuid::nil()), CallId("1".into()), Instant::now());
        calls.add_requested(task, &ToolCallRequest { id: id.clone(), tool: tool.into(), input: input.into() });
        calls.mark_started(task, &id, now);
        let answer = ToolResult { status, text: text.into() };
        calls.mark_answered(task, &id, &answer, now + Duration::from_millis(3210));
        let row = calls.answer_row(task, &id, "", columns).unwrap();
        assert!(row_width(&row) <= columns);
        paint(&row, Style::Plain)
    }

    #[test]
    fn a_call_is_one_row() {
        use ToolResultStatus::{Denied, Done, Refused};
        let shell = r#"{"command":"cargo test"}"#;
        assert_eq!(line("shell", shell, Done, "fine", 60), "• shell cargo test · ok 3.2 s");
        assert_eq!(line("shell", shell, Done, "no\n[exit code 1]", 60), "• shell cargo test · exit code 1 3.2 s");
        assert_eq!(line("shell", shell, Denied, "", 60), "• shell cargo test · not permitted 3.2 s");
        let edit = r#"{"path":"a.rs","old":"a\nb\nc","new":"a\nx\ny\nc"}"#;
        assert_eq!(line("edit", edit, Done, "", 60), "• edit a.rs · +2 −1 3.2 s");
        assert!(line("edit", edit, Refused, &"why ".repeat(99), 40).starts_with("• edit a.rs · refused: why"));
    }

    #[test]
    fn recent_calls_can_be_shown_in_full() {
        let (mut calls, task) = (CallHistory::default(), TaskId::new(Uuid::nil()));
        for number in 0..200 {
            let id = CallId(number.to_string());
            calls.add_requested(task, &ToolCallRequest { id: id.clone(), tool: "glob".into(), input: "{}".into() });
            let answer = ToolResult { status: ToolResultStatus::Done, text: format!("answer {number}") };
            calls.mark_answered(task, &id, &answer, Instant::now());
        }
        let text = |ago| calls.full_rows(ago, 40).map(|rows| paint(&rows.concat(), Style::Plain));
        assert!(text(1).unwrap().ends_with("answer 199"));
        assert!(text(MAX_CALLS).unwrap().ends_with("answer 100"));
        assert!(text(0).is_none() && text(MAX_CALLS + 1).is_none());
    }
}
