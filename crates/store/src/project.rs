//! Projections: what the log says now, as rows that views read. Each event changes them in the transaction that
//! appends it, so a view never disagrees with the log.

use protocol::{
    Activation, At, Body, Delivery, Entry, Event, Kind, MailId, Origin, Outcome, SessionId, TaskId, TaskSpec,
    TaskState, Terms, Usage, clip_middle,
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::unreadable;
use crate::event::json;
use crate::{asks, turns};

/// Most bytes of a result that a view carries; the log has the whole.
const RESULT: usize = 8 * 1024;

/// Most characters of a session's title.
const TITLE: usize = 120;

/// Brings the projections up to date with one event.
pub(crate) fn project(conn: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    let Entry { task, at, event } = entry;
    let (task, at) = (*task, *at);
    match event {
        Event::SessionOpened(terms) => open_session(conn, terms, at)?,
        Event::SessionAdopted { terms, .. } => set_terms(conn, terms)?,
        Event::SessionForked { from } => fork_session(conn, *from, at)?,
        Event::TaskCreated(spec) => create_task(conn, task, spec, at)?,
        Event::TaskParked { until_at } => set_state(conn, task, &TaskState::Parked { until_at: *until_at })?,
        Event::TaskInterrupted => set_state(conn, task, &TaskState::Interrupted)?,
        Event::TaskRequeued => set_state(conn, task, &TaskState::Queued)?,
        Event::TaskFinished { outcome } => set_state(conn, task, &TaskState::Finished { outcome: outcome.clone() })?,
        Event::ActivationStarted { activation, .. } => start(conn, task, *activation)?,
        Event::ActivationEnded { outcome, text, .. } => rest(conn, task, outcome, text)?,
        Event::MailAdmitted { mail, from, delivery, body } => {
            admit(conn, &Letter { mail: *mail, task, from, delivery: *delivery, body, at })?;
        }
        Event::MailDelivered { mail } => mail.iter().try_for_each(|mail| move_mail(conn, *mail, "delivered"))?,
        Event::MailExpired { mail } => move_mail(conn, *mail, "expired")?,
        Event::TurnBegun { turn, model, price, .. } => turns::begin(conn, task, *turn, model, *price, at)?,
        Event::TurnAnswered { turn, usage, cost, model, .. } => {
            turns::answer(conn, task, *turn, model)?;
            if usage.total() == 0 {
                // Its provider did not say what it used.
                turns::lose(conn, task, *turn, *cost)?;
            }
            turns::spend(conn, task, *turn, *usage, *cost)?;
        }
        Event::TurnFailed { turn, cost, .. } => {
            turns::lose(conn, task, *turn, *cost)?;
            turns::spend(conn, task, *turn, Usage::default(), *cost)?;
        }
        Event::Asked(ask) => asks::open(conn, task, ask, at)?,
        Event::AskDecided { ask, decision, by, .. } => asks::decide(conn, ask, decision, *by, at)?,
        Event::CallAnswered { call, .. } => asks::withdraw(conn, task, call)?,
        Event::IntentReported { intent } => report_intent(conn, task, intent)?,
        Event::AdmissionClosed
        | Event::AdmissionOpened
        | Event::TaskPromoted
        | Event::SlotRegained
        | Event::CancelRequested { .. }
        | Event::CallStarted { .. }
        | Event::WaitBegan { .. }
        | Event::WaitEnded { .. }
        | Event::ModelDiffered { .. }
        | Event::BudgetLow { .. }
        | Event::WrapUpBegan { .. }
        | Event::Compacted(_)
        | Event::AgentDefined { .. }
        | Event::TaskStalled { .. }
        | Event::TaskStirred
        | Event::TaskForgotten
        | Event::ActivationGreeted { .. }
        | Event::ActivationParted { .. }
        | Event::StopHeld { .. }
        | Event::CallRewritten { .. }
        | Event::ToolsLoaded { .. }
        | Event::Unknown => {}
    }
    touch(conn, task, at)
}

/// Reads a fact about the session.
pub(crate) fn meta(conn: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    conn.prepare_cached("SELECT value FROM bosun_meta WHERE key = ?1")?.query_row([key], |row| row.get(0)).optional()
}

fn set_meta(conn: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO bosun_meta (key, value) VALUES (?1, ?2)")?.execute([key, value])?;
    Ok(())
}

fn open_session(conn: &Connection, terms: &Terms, at: At) -> rusqlite::Result<()> {
    set_terms(conn, terms)?;
    set_meta(conn, "created_at", &at.0.to_string())
}

fn set_terms(conn: &Connection, terms: &Terms) -> rusqlite::Result<()> {
    set_meta(conn, "cwd", &terms.cwd)?;
    set_meta(conn, "model", &terms.model)?;
    set_meta(conn, "permission", &json(&terms.permission)?)?;
    set_meta(conn, "rules", &json(&terms.rules)?)?;
    set_meta(conn, "roots", &json(&terms.roots)?)?;
    set_meta(conn, "ask_user", &json(&terms.ask_user)?)?;
    set_meta(conn, "max_turns", &json(&terms.max_turns)?)?;
    set_meta(conn, "budget", &json(&terms.budget)?)?;
    set_meta(conn, "effort", &json(&terms.effort)?)?;
    set_meta(conn, "version", &terms.version)
}

/// Notes that the file is a fork whose log does not say so yet.
pub(crate) fn begin_fork(conn: &Connection, from: SessionId) -> rusqlite::Result<()> {
    set_meta(conn, "forking_from", &from.to_string())
}

/// What the file is a fork of, as long as its log does not say so.
pub(crate) fn fork_begun(conn: &Connection) -> rusqlite::Result<Option<SessionId>> {
    meta(conn, "forking_from")?.map(|from| from.parse().map_err(unreadable)).transpose()
}

fn fork_session(conn: &Connection, from: SessionId, at: At) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM bosun_meta WHERE key = 'forking_from'")?.execute([])?;
    set_meta(conn, "forked_from", &from.to_string())?;
    set_meta(conn, "created_at", &at.0.to_string())
}

fn create_task(conn: &Connection, task: TaskId, spec: &TaskSpec, at: At) -> rusqlite::Result<()> {
    let path = match spec.parent {
        None => "/root".to_owned(),
        Some(parent) => {
            let above: String = conn
                .prepare_cached("SELECT path FROM bosun_tasks WHERE id = ?1")?
                .query_row([parent.to_string()], |row| row.get(0))?;
            format!("{above}/{}", spec.name)
        }
    };
    // The root rests until its first mail; every other task is made with it.
    let state = match spec.kind {
        Kind::Main => TaskState::Idle,
        Kind::Agent | Kind::Shell => TaskState::Queued,
    };
    conn.prepare_cached(
        "INSERT INTO bosun_tasks (id, parent, kind, agent, path, description, state, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
    )?
    .execute(params![
        task.to_string(),
        spec.parent.map(|parent| parent.to_string()),
        json(&spec.kind)?,
        spec.agent,
        path,
        spec.description,
        json(&state)?,
        at.0
    ])?;
    Ok(())
}

/// Changes a task's state. Finished is final, whatever comes late.
fn set_state(conn: &Connection, task: TaskId, state: &TaskState) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET state = ?2 WHERE id = ?1 AND state ->> '$.type' <> 'finished'")?
        .execute(params![task.to_string(), json(state)?])?;
    Ok(())
}

fn start(conn: &Connection, task: TaskId, activation: Activation) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET activation = ?2 WHERE id = ?1")?
        .execute(params![task.to_string(), activation.0])?;
    set_state(conn, task, &TaskState::Running)
}

fn rest(conn: &Connection, task: TaskId, outcome: &Outcome, text: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET last_outcome = ?2, result = ?3 WHERE id = ?1")?.execute(params![
        task.to_string(),
        json(outcome)?,
        clip_middle(text, RESULT)
    ])?;
    set_state(conn, task, &TaskState::Idle)
}

fn report_intent(conn: &Connection, task: TaskId, intent: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET intent = ?2 WHERE id = ?1")?.execute([&task.to_string(), intent])?;
    Ok(())
}

struct Letter<'a> {
    mail: MailId,
    task: TaskId,
    from: &'a Origin,
    delivery: Delivery,
    body: &'a Body,
    at: At,
}

fn admit(conn: &Connection, letter: &Letter<'_>) -> rusqlite::Result<()> {
    let Letter { mail, task, from, delivery, body, at } = letter;
    conn.prepare_cached(
        "INSERT INTO bosun_mail (mail, task, sender, delivery, body, state, at)
         VALUES (?1, ?2, ?3, ?4, ?5, 'admitted', ?6)",
    )?
    .execute(params![mail.0, task.to_string(), json(from)?, json(delivery)?, json(body)?, at.0])?;
    match (from, body) {
        (Origin::User, Body::Text { text, .. }) => entitle(conn, *task, text),
        (Origin::User | Origin::Task { .. } | Origin::Runtime, Body::Text { .. } | Body::Result { .. }) => Ok(()),
    }
}

/// Takes the first words that a person gave the root as the session's title.
fn entitle(conn: &Connection, task: TaskId, text: &str) -> rusqlite::Result<()> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let title: String = line.chars().take(TITLE).collect();
    conn.prepare_cached(
        "INSERT OR IGNORE INTO bosun_meta (key, value)
         SELECT 'title', ?2 FROM bosun_tasks WHERE id = ?1 AND parent IS NULL",
    )?
    .execute(params![task.to_string(), title])?;
    Ok(())
}

fn move_mail(conn: &Connection, mail: MailId, state: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_mail SET state = ?2 WHERE mail = ?1")?.execute(params![mail.0, state])?;
    Ok(())
}

fn touch(conn: &Connection, task: TaskId, at: At) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET updated_at = ?2 WHERE id = ?1")?
        .execute(params![task.to_string(), at.0])?;
    Ok(())
}
