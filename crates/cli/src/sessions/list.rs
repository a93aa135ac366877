//! Sessions as tables.

use host::{Clock, Home, SystemClock};
use protocol::SessionId;
use protocol::api::{SessionView, TaskView, TasksParams};
use serde::Serialize;
use store::{Index, Reader, SessionRow, StoreError};

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::money::Money;
use crate::{print, setup, time};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: SessionId,
    state: String,
    cwd: String,
    title: String,
    model: String,
    created_at: u64,
    updated_at: u64,
}

pub(super) fn list(home: &Home, options: &ListArgs) -> Result<Exit, Failure> {
    let here = if options.here { Some(setup::folder(None)?.display().to_string()) } else { None };
    let rows = Index::open(home)?.agree(home)?.list(here.as_deref())?;
    let rows: Vec<Row> = rows.into_iter().map(|row| truth(home, row)).collect();
    if options.json {
        print::json(&rows);
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        print::note("no sessions; begin one with: bosun -p \"…\"");
    }
    let now = SystemClock.now();
    for row in rows {
        let age = time::ago(protocol::At(row.updated_at), now);
        let title = print::plain(&print::one_line(&row.title, 60));
        print::row(format_args!("{}  {:<12} {age:>4}  {title}", row.id, row.state));
    }
    Ok(Exit::Success)
}

/// The index is a cache; what a session is doing now is in its own file.
fn truth(home: &Home, row: SessionRow) -> Row {
    let view = Reader::open(home, row.id).and_then(|reader| reader.session_view());
    let (state, updated_at, title) = match view {
        Ok(view) => (view.state.word().to_owned(), view.updated_at, view.title),
        Err(StoreError::Corrupt { .. }) => ("damaged".into(), row.updated_at, row.title),
        Err(StoreError::Newer { .. }) => ("newer".into(), row.updated_at, row.title),
        Err(_) => ("unreadable".into(), row.updated_at, row.title),
    };
    let SessionRow { id, cwd, model, created_at, .. } = row;
    Row { id, state, cwd, title, model, created_at: created_at.0, updated_at: updated_at.0 }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    session: SessionView,
    plan: Option<String>,
    tasks: Vec<TaskView>,
}

pub(super) fn show(home: &Home, id: SessionId, json: bool) -> Result<Exit, Failure> {
    let reader = Reader::open(home, id)?;
    let session = reader.session_view()?;
    let tasks = reader.tasks(&TasksParams::every())?.tasks;
    let plan = runtime::read_plan(home, id)
        .map_err(|error| Failure::failed(format!("cannot read {}: {error}", home.plan_file(id).display())))?;
    if json {
        print::json(&Shown { session, plan, tasks });
        return Ok(Exit::Success);
    }
    describe(&session);
    for task in tasks {
        let state = task.state.word();
        let what = print::plain(&print::one_line(task.intent.as_deref().unwrap_or(&task.description), 60));
        print::row(format_args!("  {:<24} {state:<12} {:>4} turns  {what}", task.path, task.turns));
    }
    if let Some(plan) = plan {
        print::answer(format_args!("plan\n\n{}", print::plain(plan.trim_end())));
    }
    Ok(Exit::Success)
}

fn describe(session: &SessionView) {
    let owner = session.owner_pid.map_or_else(|| "nobody".to_owned(), |pid| format!("process {pid}"));
    let outcome = session.last_outcome.as_ref().map_or("none yet", |outcome| outcome.word());
    let cost = Money::new(session.spent.micros, session.priced);
    let rows = [
        ("session", session.id.to_string()),
        ("title", print::plain(&print::one_line(&session.title, 70))),
        ("folder", print::plain(&session.cwd)),
        ("model", print::plain(&session.model)),
        ("mode", session.mode.to_string()),
        ("state", session.state.word().to_owned()),
        ("last outcome", outcome.to_owned()),
        ("run by", owner),
        ("began", session.created_at.to_string()),
        ("last event", session.updated_at.to_string()),
        ("events", session.events.to_string()),
        ("turns", session.turns.to_string()),
        ("tokens", spent(session.spent.tokens.to_string(), session.budget.tokens.map(|most| most.to_string()))),
        ("cost", spent(cost.to_string(), session.budget.micros.map(|most| Money::Known(most).to_string()))),
    ];
    for (name, value) in rows {
        print::answer(format_args!("{name:<13} {value}"));
    }
    print::answer("tasks");
}

/// What was spent, and of how much.
fn spent(spent: String, most: Option<String>) -> String {
    match most {
        Some(most) => format!("{spent} of {most}"),
        None => spent,
    }
}
