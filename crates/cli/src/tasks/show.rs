//! Prints everything that is known of one task.

use host::Home;
use protocol::api::{MailView, TaskRecord, TaskView, TurnView};
use protocol::{Evidence, ListItem, Principal, SessionId, TaskMode, Timestamp};
use serde::Serialize;
use tui::money::Money;
use tui::print;

use super::selection::{SelectedTask, TaskPaths};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::lists;

/// The maximum length of a text on one line.
const MAX_LINE_CHARS: usize = 160;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskDetails {
    session: SessionId,
    record: TaskRecord,
    /// The items of the session's list that it works on.
    items: Vec<ListItem>,
}

pub(super) fn show(home: &Home, chosen: &SelectedTask, json: bool) -> Result<CommandExit, CliError> {
    let gone = || CliError::failed(format!("{} no longer exists", chosen.task.id));
    let record = chosen.handle.record(chosen.task.id)?.ok_or_else(gone)?;
    let session = chosen.session_view()?;
    // An unreadable list must not prevent showing the task.
    let items = lists::items_of_task(home, &session, chosen.task.id).unwrap_or_default();
    if json {
        print::json(&TaskDetails { session: chosen.session, record, items });
        return Ok(CommandExit::Success);
    }
    let paths = chosen.paths()?;
    print_fields(&record, chosen.session, &session.model);
    print_section(
        "items",
        items.iter().map(|item| format!("{} {}: {}", item.id, item.status.as_str(), short(&item.subject))),
    );
    print_section("prompt", record.task.prompt.iter().map(|text| print::sanitize(text)));
    print_section("mail", record.mail.iter().map(|item| mail_line(item, &paths)));
    print_section("turns", record.turns.iter().map(turn_line));
    print_section("evidence", record.evidence.iter().map(evidence_line));
    print_section(
        "result",
        record.task.result.iter().filter(|text| !text.is_empty()).map(|text| print::sanitize(text)),
    );
    Ok(CommandExit::Success)
}

fn print_fields(record: &TaskRecord, session: SessionId, session_model: &str) {
    let task = &record.task;
    let mut rows = vec![
        ("task", task.id.to_string()),
        ("path", print::sanitize(&task.path)),
        ("session", session.to_string()),
        ("agent", print::sanitize(&task.agent)),
        ("for", short(&task.description)),
        ("state", state(task)),
        ("mode", mode(task).to_owned()),
        ("model", model(task, session_model)),
        ("activation", format!("{}, attempt {}", task.activation.0, task.attempt.0)),
        ("created", task.created_at.to_string()),
    ];
    let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    add("effort", task.effort.map(|effort| format!("{effort:?}").to_lowercase()));
    add("queued since", task.queued_at.map(|at| at.to_string()));
    add("started", task.started_at.map(|at| at.to_string()));
    add("ended", task.ended_at.map(|at| at.to_string()));
    add("stalled since", task.stalled_since_at.map(|at| at.to_string()));
    add("stop requested", task.cancel.map(|cancel| format!("by {}", serialized_name(&cancel.by))));
    add("last outcome", task.last_outcome.as_ref().map(|outcome| outcome.as_str().to_owned()));
    add("doing", task.intent.as_deref().map(short));
    let mcp = task.mcp.as_deref();
    add("server", mcp.map(|report| print::sanitize(&report.spec.server)));
    add("tool", mcp.map(|report| print::sanitize(&report.spec.tool)));
    let remote = mcp.and_then(|report| report.spec.remote.as_ref());
    add("server's task", remote.map(|remote| print::sanitize(&format!("{} ({})", remote.id, remote.form.revision()))));
    add("server's state", mcp.map(|report| report.status.as_str().to_owned()));
    let of_task = mcp.and_then(|report| report.progress.as_ref()).map(ToString::to_string);
    add("progress", task.progress.clone().or(of_task).as_deref().map(short));
    add("warning", mcp.and_then(|report| report.warning.as_deref()).map(short));
    add("last asked", mcp.and_then(|report| report.polled_at).map(|at| at.to_string()));
    add("ends at latest", mcp.map(|report| report.spec.deadline_at.to_string()));
    add("unread", (task.unread > 0).then(|| format!("{} messages", task.unread)));
    add("turns", Some(task.turns.to_string()));
    add("tokens", Some(task.usage.total().to_string()));
    add("cost", Some(Money::new(task.cost_micros, task.priced).to_string()));
    for (name, value) in rows {
        print::output(format_args!("{name:<14} {value}").to_string().trim_end());
    }
}

fn mode(task: &TaskView) -> &'static str {
    match (task.mode, task.ended_at) {
        (TaskMode::Background, _) => "background",
        (TaskMode::Sync, None) => "its parent waits for it",
        (TaskMode::Sync, Some(_)) => "its parent waited for it",
    }
}

fn state(task: &TaskView) -> String {
    let stalled = if task.stalled_since_at.is_some() { ", stalled" } else { "" };
    let removed = if task.forgotten { ", removed" } else { "" };
    let failure = match &task.last_outcome {
        Some(protocol::TaskOutcome::Failed { message, .. }) => format!(": {}", short(message)),
        Some(_) | None => String::new(),
    };
    format!("{}{stalled}{removed}{failure}", task.state.as_str())
}

/// The effective model, with the requested and the reported model if they differ.
fn model(task: &TaskView, session_model: &str) -> String {
    let effective = task.model.as_ref().map_or(session_model, |model| &model.effective);
    let requested = task.model.as_ref().and_then(|model| {
        let requested = model.requested.as_ref().filter(|requested| **requested != model.effective)?;
        Some(format!(", {requested} was requested: {}", model.why.as_deref().unwrap_or("it is not available")))
    });
    let reported = task.reported_model.as_ref().filter(|name| !effective.ends_with(&***name));
    let reported = reported.map(|name| format!(", {name} answers")).unwrap_or_default();
    let effective = protocol::model_display_name(effective);
    print::sanitize(&format!("{effective}{}{reported}", requested.unwrap_or_default()))
}

fn print_section(name: &str, lines: impl Iterator<Item = String>) {
    for (number, line) in lines.enumerate() {
        if number == 0 {
            print::output(format_args!("\n{name}"));
        }
        line.lines().for_each(|line| print::output(format_args!("  {line}")));
    }
}

fn mail_line(mail: &MailView, paths: &TaskPaths) -> String {
    let from = match mail.from {
        Principal::User => "the user".to_owned(),
        Principal::Task { id } => paths.get(&id).cloned().unwrap_or_else(|| id.to_string()),
        Principal::Runtime => "the runtime".to_owned(),
    };
    let moved = mail.moved_at.map(|at| format!(" {at}")).unwrap_or_default();
    print::sanitize(&format!("{} from {from}, {}{moved}: {}", mail.mail, mail.state.as_str(), short(&mail.text)))
}

fn turn_line(turn: &TurnView) -> String {
    let usage = turn.usage;
    let duration = turn
        .ended_at
        .map_or_else(|| "in progress".to_owned(), |end: Timestamp| format!("{:?}", end.since(turn.begun_at)));
    let model = turn.reported_model.as_deref().unwrap_or(&turn.requested_model);
    let text = turn.text.as_ref().map(|text| format!("  {}", short(text))).unwrap_or_default();
    print::sanitize(&format!(
        "{}  {model}  {} in, {} out, {} from cache  {}  {duration}{text}",
        turn.turn,
        usage.input,
        usage.output,
        usage.cache_read,
        Money::new(turn.spent.micros, turn.priced)
    ))
}

fn evidence_line(evidence: &Evidence) -> String {
    print::sanitize(&match evidence {
        Evidence::Changed { path } => format!("changed {}", print::one_line(path, MAX_LINE_CHARS)),
        Evidence::Ran { command, exit: Some(code) } => {
            format!("ran `{}`, exit code {code}", print::one_line(command, MAX_LINE_CHARS))
        }
        Evidence::Ran { command, exit: None } => {
            format!("ran `{}`, ended by a signal", print::one_line(command, MAX_LINE_CHARS))
        }
    })
}

fn serialized_name(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default().trim_matches('"').to_owned()
}

fn short(text: &str) -> String {
    print::sanitize(&print::one_line(text, MAX_LINE_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_cannot_forge_evidence() {
        let path = "a\u{1b}[8m\nran `cargo test`, exit code 0".to_owned();
        assert_eq!(evidence_line(&Evidence::Changed { path }), "changed a[8m ran `cargo test`, exit code 0");
    }
}
