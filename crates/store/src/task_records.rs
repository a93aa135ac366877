//! Task records for views. Without a living owner, a running task is shown as interrupted, or lost if it is a command;
//! nothing has to be written for that.

use std::collections::{BTreeSet, HashSet};

use protocol::api::{TaskRecord, TaskView, TasksPage, TasksParams};
use protocol::{Activation, Attempt, CallId, Evidence, Expectations, TaskId, TaskState, TaskType, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::unreadable;
use crate::event::{from_json, json};
use crate::turn_rows::{self, usage};
use crate::{lease, mail};

/// Most pieces of mail, turns, and pieces of evidence in one record.
const MAIL: u32 = 200;
const TURNS: u32 = 500;
const EVIDENCE: usize = 200;

/// Rows of a page unless the caller says otherwise.
const PAGE: u64 = 100;

/// One page of tasks, oldest first.
pub(crate) fn page(conn: &Connection, query: &TasksParams) -> rusqlite::Result<TasksPage> {
    let now = LiveContext::read(conn)?;
    let kind = query.kind.as_ref().map(json).transpose()?;
    let mut select = conn.prepare_cached(
        "SELECT * FROM bosun_tasks
         WHERE (?1 IS NULL OR kind = ?1)
           AND (?2 IS NULL OR path = ?2 OR substr(path, 1, length(?2) + 1) = ?2 || '/')
         ORDER BY row",
    )?;
    let mut rows = select.query(params![kind, query.below])?;
    let mut page = TasksPage { tasks: Vec::new(), total: 0 };
    let end = query.offset.saturating_add(query.limit.unwrap_or(PAGE));
    while let Some(row) = rows.next()? {
        // Not in SQL: the state depends on whether the owner is alive.
        let is_in_state = |state: &String| Ok::<_, rusqlite::Error>(now.state(row)?.1.as_str() == state);
        if !query.all && now.is_forgotten(row)? || !query.state.as_ref().map_or(Ok(true), is_in_state)? {
            continue;
        }
        if (query.offset..end).contains(&page.total) {
            page.tasks.push(view(conn, row, &now)?);
        }
        page.total += 1;
    }
    Ok(page)
}

/// One task; none if there is no such task.
pub(crate) fn task(conn: &Connection, task: TaskId) -> rusqlite::Result<Option<TaskView>> {
    let now = LiveContext::read(conn)?;
    conn.prepare_cached("SELECT * FROM bosun_tasks WHERE id = ?1")?
        .query_row([task.to_string()], |row| view(conn, row, &now))
        .optional()
}

/// The session's root; none before its first event.
pub(crate) fn root(conn: &Connection) -> rusqlite::Result<Option<TaskView>> {
    let now = LiveContext::read(conn)?;
    conn.prepare_cached("SELECT * FROM bosun_tasks WHERE parent IS NULL ORDER BY row LIMIT 1")?
        .query_row([], |row| view(conn, row, &now))
        .optional()
}

/// The full record of one task; none if there is no such task.
pub(crate) fn record(conn: &Connection, id: TaskId) -> rusqlite::Result<Option<TaskRecord>> {
    let Some(task) = task(conn, id)? else { return Ok(None) };
    let (mail, mail_total) = mail::of_task(conn, id, MAIL)?;
    let (turns, turns_total) = turn_rows::of_task(conn, id, TURNS)?;
    let (expects, evidence) = (expects(conn, id)?, evidence(conn, id)?);
    Ok(Some(TaskRecord { task, expects, mail, mail_total, turns, turns_total, evidence }))
}

/// The names of the states that any task is in.
pub(crate) fn states(conn: &Connection) -> rusqlite::Result<BTreeSet<&'static str>> {
    let now = LiveContext::read(conn)?;
    conn.prepare_cached("SELECT DISTINCT kind, state FROM bosun_tasks")?
        .query_map([], |row| Ok(now.state(row)?.1.as_str()))?
        .collect()
}

/// Facts that are not in a task's own row.
struct LiveContext {
    /// Whether a living process owns the session.
    owned: bool,
    /// The tasks that the user removed while there was no owner to record it.
    removed: HashSet<String>,
}

impl LiveContext {
    fn read(conn: &Connection) -> rusqlite::Result<LiveContext> {
        let owned = lease::read(conn)?.is_some_and(|lease| lease.live_pid().is_some());
        let removed = conn
            .prepare_cached(
                "SELECT body ->> '$.task' FROM bosun_commands
                 WHERE applied_at IS NULL AND body ->> '$.type' = 'forget' AND body ->> '$.task' IS NOT NULL",
            )?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(LiveContext { owned, removed })
    }

    fn state(&self, row: &Row<'_>) -> rusqlite::Result<(TaskType, TaskState)> {
        let kind = from_json(&row.get::<_, String>("kind")?)?;
        let state: TaskState = from_json(&row.get::<_, String>("state")?)?;
        Ok((kind, if self.owned { state } else { state.without_owner(kind) }))
    }

    fn is_forgotten(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let has_ended = || Ok::<_, rusqlite::Error>(matches!(self.state(row)?.1, TaskState::Finished { .. }));
        Ok(row.get("forgotten")? || self.removed.contains(&row.get::<_, String>("id")?) && has_ended()?)
    }
}

/// The tool call that started a task.
pub(crate) fn call_of(conn: &Connection, task: TaskId) -> rusqlite::Result<Option<CallId>> {
    let text = conn
        .prepare_cached(
            "SELECT body -> '$.call' FROM bosun_events WHERE task = ?1 AND type = 'taskCreated' ORDER BY seq LIMIT 1",
        )?
        .query_row([task.to_string()], |row| row.get::<_, Option<String>>(0))
        .optional()?;
    text.flatten().map_or(Ok(None), |text| from_json(&text))
}

fn expects(conn: &Connection, task: TaskId) -> rusqlite::Result<Option<Expectations>> {
    let text = conn
        .prepare_cached(
            "SELECT body -> '$.expects' FROM bosun_events WHERE task = ?1 AND type = 'taskCreated' ORDER BY seq LIMIT 1",
        )?
        .query_row([task.to_string()], |row| row.get::<_, Option<String>>(0))
        .optional()?;
    text.flatten().map_or(Ok(None), |text| from_json(&text))
}

/// A task's newest evidence, without repeats.
fn evidence(conn: &Connection, task: TaskId) -> rusqlite::Result<Vec<Evidence>> {
    let mut select = conn.prepare_cached(
        "SELECT body -> '$.evidence' FROM bosun_events
         WHERE task = ?1 AND type = 'callAnswered' AND body -> '$.evidence' IS NOT NULL ORDER BY seq DESC",
    )?;
    let mut rows = select.query([task.to_string()])?;
    let mut found: Vec<Evidence> = Vec::new();
    while found.len() < EVIDENCE
        && let Some(row) = rows.next()?
    {
        let pieces: Vec<Evidence> = from_json(&row.get::<_, String>(0)?)?;
        for piece in pieces.into_iter().rev() {
            if found.len() < EVIDENCE && !found.contains(&piece) {
                found.push(piece);
            }
        }
    }
    found.reverse();
    Ok(found)
}

fn view(conn: &Connection, row: &Row<'_>, now: &LiveContext) -> rusqlite::Result<TaskView> {
    let text = |column| row.get::<_, String>(column);
    let optional = |column| row.get::<_, Option<String>>(column);
    let moment = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<u64>>(column)?.map(Timestamp));
    let (id, (kind, state)) = (text("id")?, now.state(row)?);
    Ok(TaskView {
        parent: optional("parent")?.map(|parent| parent.parse().map_err(unreadable)).transpose()?,
        kind,
        agent: text("agent")?,
        name: text("name")?,
        path: text("path")?,
        depth: row.get("depth")?,
        description: text("description")?,
        prompt: mail::prompt(conn, &id)?,
        mode: from_json(&text("mode")?)?,
        model: optional("model")?.map(|model| from_json(&model)).transpose()?,
        reported_model: optional("reported_model")?,
        effort: optional("effort")?.map(|effort| from_json(&effort)).transpose()?,
        status: state.status(),
        state,
        stalled_since_at: moment("stalled_at")?.filter(|_| now.owned),
        cancel: optional("cancel")?.map(|cancel| from_json(&cancel)).transpose()?,
        forgotten: now.is_forgotten(row)?,
        activation: Activation(row.get("activation")?),
        attempt: Attempt(row.get("attempt")?),
        unread: row.get("unread")?,
        last_outcome: optional("last_outcome")?.map(|outcome| from_json(&outcome)).transpose()?,
        intent: optional("intent")?,
        result: optional("result")?,
        turns: row.get("turns")?,
        usage: usage(row)?,
        cost_micros: row.get("cost_micros")?,
        priced: turn_rows::priced(conn, &id)?,
        changes: row.get("changes")?,
        commands: row.get("commands")?,
        created_at: Timestamp(row.get("created_at")?),
        queued_at: moment("queued_at")?,
        started_at: moment("started_at")?,
        ended_at: moment("ended_at")?,
        updated_at: Timestamp(row.get("updated_at")?),
        id: id.parse().map_err(unreadable)?,
    })
}
