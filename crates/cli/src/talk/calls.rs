//! Tool calls: a line for each when it is answered, and all of it for those who ask.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use protocol::{Answer, AnswerStatus, Call, CallId, TaskId, clip_middle};
use serde_json::Value;

use super::arguments;
use super::text::{Row, Span, fit, width};
use crate::exact::exact;
use crate::print;
use crate::run::show;
use crate::style::Role;

/// How many calls can be looked at again.
const KEPT: usize = 100;

/// Most bytes that are kept of an input.
const INPUT: usize = 256 * 1024;

/// The newest calls of a session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Calls(VecDeque<Seen>);

#[derive(Debug)]
struct Seen {
    task: TaskId,
    call: Call,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    Asked,
    Begun(Instant),
    Answered(Answer, Option<Duration>),
}

impl Calls {
    /// A model made a call.
    pub(super) fn asked(&mut self, task: TaskId, call: &Call) {
        let call = Call { input: clip_middle(&call.input, INPUT), ..call.clone() };
        self.0.push_back(Seen { task, call, progress: Progress::Asked });
        self.0.drain(..self.0.len().saturating_sub(KEPT));
    }

    /// A call runs.
    pub(super) fn begun(&mut self, task: TaskId, id: &CallId, now: Instant) {
        if let Some(seen) = self.find(task, id) {
            seen.progress = Progress::Begun(now);
        }
    }

    /// A call has its answer.
    pub(super) fn answered(&mut self, task: TaskId, id: &CallId, answer: &Answer, now: Instant) {
        let Some(seen) = self.find(task, id) else { return };
        let took = match seen.progress {
            Progress::Begun(began) => Some(now.duration_since(began)),
            Progress::Asked | Progress::Answered(..) => None,
        };
        seen.progress = Progress::Answered(answer.clone(), took);
    }

    /// What runs longest of what runs, and how many others do.
    pub(super) fn running(&self) -> Option<(String, Instant, usize)> {
        let mut running = self.0.iter().filter_map(|seen| match seen.progress {
            Progress::Begun(began) => Some((&seen.call, began)),
            Progress::Asked | Progress::Answered(..) => None,
        });
        let (call, began) = running.next()?;
        Some((title(call), began, running.count()))
    }

    /// The row for the newest answer to a call.
    pub(super) fn row(&self, task: TaskId, id: &CallId, whose: &str, columns: usize) -> Option<Row> {
        let seen = self.0.iter().rev().find(|seen| seen.task == task && seen.call.id == *id)?;
        let Progress::Answered(answer, took) = &seen.progress else { return None };
        let (role, mut result) = result(&seen.call, answer);
        if let Some(took) = took.filter(|took| *took >= Duration::from_millis(100)) {
            result += &format!(" {}", short(took));
        }
        let lead = format!("• {whose}");
        let result = fit(&result, columns / 2);
        let room = columns.saturating_sub(width(&lead) + width(&result) + 1);
        let title = fit(&title(&seen.call), room);
        Some(vec![Span::plain(&lead), Span::new(Role::Strong, &title), Span::new(role, &format!(" {result}"))])
    }

    /// All of the call that was made so many calls ago; 1 is the newest.
    pub(super) fn whole(&self, ago: usize, columns: usize) -> Option<Vec<Row>> {
        let seen = self.0.iter().rev().nth(ago.checked_sub(1)?)?;
        let head = vec![Span::plain("• "), Span::new(Role::Strong, &seen.call.tool)];
        let mut rows = vec![head];
        rows.extend(arguments::rows(&seen.call.input, columns));
        match &seen.progress {
            Progress::Asked => rows.push(vec![Span::new(Role::Dim, "  (not begun)")]),
            Progress::Begun(_) => rows.push(vec![Span::new(Role::Dim, "  (running)")]),
            Progress::Answered(answer, _) => {
                rows.push(vec![Span::new(Role::Dim, &format!("  answer: {}", answer.status.word()))]);
                rows.extend(arguments::text_rows(answer.text.trim_end(), columns));
            }
        }
        Some(rows)
    }

    fn find(&mut self, task: TaskId, id: &CallId) -> Option<&mut Seen> {
        self.0.iter_mut().rev().find(|seen| seen.task == task && seen.call.id == *id)
    }
}

/// The tool, and the argument that says most.
pub(super) fn title(call: &Call) -> String {
    let gist = print::one_line(&exact(&show::gist(&call.input)), 300);
    format!("{} {gist}", call.tool).trim_end().to_owned()
}

fn result(call: &Call, answer: &Answer) -> (Role, String) {
    let reason = || print::one_line(&answer.text, 200);
    match answer.status {
        AnswerStatus::Done => match (changed(call), failed(call, answer)) {
            (_, Some(words)) => (Role::Bad, words),
            (Some((added, removed)), None) => (Role::Good, format!("+{added} −{removed}")),
            (None, None) => (Role::Good, "ok".into()),
        },
        AnswerStatus::Denied => (Role::Bad, "not permitted".into()),
        AnswerStatus::Refused => (Role::Bad, format!("refused: {}", reason())),
        AnswerStatus::Broken => (Role::Bad, format!("broken: {}", reason())),
        AnswerStatus::Interrupted => (Role::Bad, "interrupted".into()),
        AnswerStatus::Cancelled => (Role::Bad, "stopped".into()),
    }
}

/// What a command says of its end, if that was no success.
fn failed(call: &Call, answer: &Answer) -> Option<String> {
    let last = answer.text.lines().next_back()?;
    let words = last.strip_prefix('[')?.strip_suffix(']')?;
    let ended_badly = call.tool == "shell" && words != "no output" && !words.starts_with("left behind");
    ended_badly.then(|| words.split([';', ',']).next().unwrap_or(words).to_owned())
}

/// How many lines a call adds and removes.
fn changed(call: &Call) -> Option<(usize, usize)> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    match call.tool.as_str() {
        "edit" => {
            let (old, new): (Vec<_>, Vec<_>) = (text("old")?.lines().collect(), text("new")?.lines().collect());
            let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
            let head = same(&mut old.iter().zip(&new));
            let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
            Some((new.len() - head - tail, old.len() - head - tail))
        }
        "create" => Some((text("content")?.lines().count(), 0)),
        "apply_patch" => {
            let lines = |mark: char| text("patch").map(|patch| patch.lines().filter(|l| l.starts_with(mark)).count());
            Some((lines('+')?, lines('-')?))
        }
        _other => None,
    }
}

/// A time that a person reads.
pub(super) fn short(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::style::Style;
    use crate::talk::text::{paint, row_width};

    fn line(tool: &str, input: &str, status: AnswerStatus, text: &str, columns: usize) -> String {
        let (mut calls, task, id, now) =
            (Calls::default(), TaskId::new(Uuid::nil()), CallId("1".into()), Instant::now());
        calls.asked(task, &Call { id: id.clone(), tool: tool.into(), input: input.into() });
        calls.begun(task, &id, now);
        let answer = Answer { status, text: text.into() };
        calls.answered(task, &id, &answer, now + Duration::from_millis(3210));
        let row = calls.row(task, &id, "", columns).unwrap();
        assert!(row_width(&row) <= columns);
        paint(&row, Style::Plain)
    }

    #[test]
    fn a_call_is_one_row() {
        use AnswerStatus::{Denied, Done, Refused};
        let shell = r#"{"command":"cargo test"}"#;
        assert_eq!(line("shell", shell, Done, "fine", 60), "• shell cargo test ok 3.2 s");
        assert_eq!(line("shell", shell, Done, "no\n[exit code 1]", 60), "• shell cargo test exit code 1 3.2 s");
        assert_eq!(line("shell", shell, Denied, "", 60), "• shell cargo test not permitted 3.2 s");
        let edit = r#"{"path":"a.rs","old":"a\nb\nc","new":"a\nx\ny\nc"}"#;
        assert_eq!(line("edit", edit, Done, "", 60), "• edit a.rs +2 −1 3.2 s");
        assert!(line("edit", edit, Refused, &"why ".repeat(99), 40).starts_with("• edit a.rs refused: why"));
    }

    #[test]
    fn all_of_a_call_can_be_seen() {
        let (mut calls, task) = (Calls::default(), TaskId::new(Uuid::nil()));
        for number in 0..200 {
            let id = CallId(number.to_string());
            calls.asked(task, &Call { id: id.clone(), tool: "glob".into(), input: "{}".into() });
            let answer = Answer { status: AnswerStatus::Done, text: format!("answer {number}") };
            calls.answered(task, &id, &answer, Instant::now());
        }
        let text = |ago| calls.whole(ago, 40).map(|rows| paint(&rows.concat(), Style::Plain));
        assert!(text(1).unwrap().ends_with("answer 199"));
        assert!(text(KEPT).unwrap().ends_with("answer 100"));
        assert!(text(0).is_none() && text(KEPT + 1).is_none());
    }
}
