//! Task records for views. Without a living owner, a running task is shown as interrupted, or lost if it is a command;
//! nothing has to be written for that.

use std::collections::{BTreeSet, HashSet};

use protocol::api::{TaskRecord, TaskView, TasksPage, TasksParams};
use protocol::{Activation, Attempt, CallId, Evidence, Expectations, TaskId, TaskState, TaskType, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::unreadable;
use crate::event::{from_json, to_json};
use crate::turn_rows::{self, usage};
use crate::{lease, mail};

/// Maximum mail in one record.
const MAX_MAIL: u32 = 200;
/// Maximum turns in one record.
const MAX_TURNS: u32 = 500;
/// Maximum pieces of evidence in one record.
const MAX_EVIDENCE: usize = 200;

/// Rows of a page if the caller sets no limit.
const DEFAULT_PAGE_ROWS: u64 = 100;

/// One page of tasks, oldest first.
pub(crate) fn page(conn: &Connection, query: &TasksParams) -> rusqlite::Result<TasksPage> {
    let context = TaskViewContext::read(conn)?;
    let kind = query.kind.as_ref().map(to_json).transpose()?;
    let mut select = conn.prepare_cached(
        "SELECT * FROM bosun_tasks
         WHERE (?1 IS NULL OR kind = ?1)
           AND (?2 IS NULL OR path = ?2 OR substr(path, 1, length(?2) + 1) = ?2 || '/')
         ORDER BY row",
    )?;
    let mut rows = select.query(params![kind, query.below])?;
    let mut page = TasksPage { tasks: Vec::new(), total: 0 };
    let end = query.offset.saturating_add(query.limit.unwrap_or(DEFAULT_PAGE_ROWS));
    while let Some(row) = rows.next()? {
        // This cannot be in the SQL: the state depends on whether the owner is alive.
        let is_in_state = |state: &String| Ok::<_, rusqlite::Error>(context.state(row)?.1.as_str() == state);
        let is_hidden = || Ok::<_, rusqlite::Error>(query.kind.is_none() && context.state(row)?.0.is_hidden());
        if !query.all && (context.is_forgotten(row)? || is_hidden()?)
            || !query.state.as_ref().map_or(Ok(true), is_in_state)?
        {
            continue;
        }
        if (query.offset..end).contains(&page.total) {
            page.tasks.push(task_view(conn, row, &context)?);
        }
        page.total += 1;
    }
    Ok(page)
}

/// One task; none if there is no such task.
pub(crate) fn task(conn: &Connection, task: TaskId) -> rusqlite::Result<Option<TaskView>> {
    let context = TaskViewContext::read(conn)?;
    conn.prepare_cached("SELECT * FROM bosun_tasks WHERE id = ?1")?
        .query_row([task.to_string()], |row| task_view(conn, row, &context))
        .optional()
}

/// The session's root; none before its first event.
pub(crate) fn root(conn: &Connection) -> rusqlite::Result<Option<TaskView>> {
    let context = TaskViewContext::read(conn)?;
    conn.prepare_cached("SELECT * FROM bosun_tasks WHERE parent IS NULL ORDER BY row LIMIT 1")?
        .query_row([], |row| task_view(conn, row, &context))
        .optional()
}

/// The session's state: that of its root or, while the root is idle, that of the agents below it that are not at rest or
/// were interrupted.
pub(crate) fn session_state(conn: &Connection, root: &TaskState) -> rusqlite::Result<TaskState> {
    if *root != TaskState::Idle {
        return Ok(root.clone());
    }
    let context = TaskViewContext::read(conn)?;
    let mut select = conn.prepare_cached("SELECT DISTINCT kind, state FROM bosun_tasks WHERE parent IS NOT NULL")?;
    let states = select.query_map([], |row| context.state(row))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let rank = |state: &TaskState| match state {
        TaskState::Running => 4,
        TaskState::Queued => 3,
        TaskState::Parked { .. } => 2,
        TaskState::Interrupted => 1,
        TaskState::Idle | TaskState::Finished { .. } => 0,
    };
    let agents = states.into_iter().filter(|(kind, state)| kind.is_subagent() && rank(state) > 0);
    Ok(agents.map(|(_, state)| state).max_by_key(rank).unwrap_or(TaskState::Idle))
}

/// The full record of one task; none if there is no such task.
pub(crate) fn record(conn: &Connection, id: TaskId) -> rusqlite::Result<Option<TaskRecord>> {
    let Some(task) = task(conn, id)? else { return Ok(None) };
    let (mail, mail_total) = mail::newest_mail(conn, id, MAX_MAIL)?;
    let (turns, turns_total) = turn_rows::newest_turns(conn, id, MAX_TURNS)?;
    let (expects, evidence) = (expects(conn, id)?, evidence(conn, id)?);
    Ok(Some(TaskRecord { task, expects, mail, mail_total, turns, turns_total, evidence }))
}

/// The names of the states that any task is in.
pub(crate) fn states(conn: &Connection) -> rusqlite::Result<BTreeSet<&'static str>> {
    let context = TaskViewContext::read(conn)?;
    conn.prepare_cached("SELECT DISTINCT kind, state FROM bosun_tasks")?
        .query_map([], |row| Ok(context.state(row)?.1.as_str()))?
        .collect()
}

/// The parts of the session's state that affect how its tasks are shown.
struct TaskViewContext {
    /// Whether a living process owns the session.
    owned: bool,
    /// The tasks that the user removed while there was no owner to record it.
    pending_removals: HashSet<String>,
}

impl TaskViewContext {
    fn read(conn: &Connection) -> rusqlite::Result<TaskViewContext> {
        let owned = lease::read(conn)?.is_some_and(|lease| lease.live_pid().is_some());
        let removed = conn
            .prepare_cached(
                "SELECT body ->> '$.task' FROM bosun_commands
                 WHERE applied_at IS NULL AND body ->> '$.type' = 'forget' AND body ->> '$.task' IS NOT NULL",
            )?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(TaskViewContext { owned, pending_removals: removed })
    }

    fn state(&self, row: &Row<'_>) -> rusqlite::Result<(TaskType, TaskState)> {
        let kind = from_json(&row.get::<_, String>("kind")?)?;
        let state: TaskState = from_json(&row.get::<_, String>("state")?)?;
        Ok((kind, if self.owned { state } else { state.without_owner(kind) }))
    }

    fn is_forgotten(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let has_ended = || Ok::<_, rusqlite::Error>(matches!(self.state(row)?.1, TaskState::Finished { .. }));
        Ok(row.get("forgotten")? || self.pending_removals.contains(&row.get::<_, String>("id")?) && has_ended()?)
    }
}

/// The tool call that started a task.
pub(crate) fn starting_call(conn: &Connection, task: TaskId) -> rusqlite::Result<Option<CallId>> {
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
    let mut evidence: Vec<Evidence> = Vec::new();
    while evidence.len() < MAX_EVIDENCE
        && let Some(row) = rows.next()?
    {
        let pieces: Vec<Evidence> = from_json(&row.get::<_, String>(0)?)?;
        for piece in pieces.into_iter().rev() {
            if evidence.len() < MAX_EVIDENCE && !evidence.contains(&piece) {
                evidence.push(piece);
            }
        }
    }
    evidence.reverse();
    Ok(evidence)
}

fn task_view(conn: &Connection, row: &Row<'_>, context: &TaskViewContext) -> rusqlite::Result<TaskView> {
    let text = |column| row.get::<_, String>(column);
    let optional = |column| row.get::<_, Option<String>>(column);
    let time = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<u64>>(column)?.map(Timestamp));
    let (id, (kind, state)) = (text("id")?, context.state(row)?);
    Ok(TaskView {
        parent: optional("parent")?.map(|parent| parent.parse().map_err(unreadable)).transpose()?,
        kind,
        agent: text("agent")?,
        name: text("name")?,
        path: text("path")?,
        depth: row.get("depth")?,
        description: text("description")?,
        prompt: mail::first_prompt(conn, &id)?,
        mode: from_json(&text("mode")?)?,
        model: optional("model")?.map(|model| from_json(&model)).transpose()?,
        reported_model: optional("reported_model")?,
        effort: optional("effort")?.map(|effort| from_json(&effort)).transpose()?,
        status: state.status(),
        state,
        stalled_since_at: time("stalled_at")?.filter(|_| context.owned),
        cancel: optional("cancel")?.map(|cancel| from_json(&cancel)).transpose()?,
        forgotten: context.is_forgotten(row)?,
        activation: Activation(row.get("activation")?),
        attempt: Attempt(row.get("attempt")?),
        unread: row.get("unread")?,
        last_outcome: optional("last_outcome")?.map(|outcome| from_json(&outcome)).transpose()?,
        intent: optional("intent")?,
        progress: optional("progress")?,
        external: optional("external")?.map(|report| from_json(&report)).transpose()?,
        mcp: optional("mcp")?.map(|report| from_json(&report)).transpose()?,
        result: optional("result")?,
        turns: row.get("turns")?,
        usage: usage(row)?,
        cost_micros: row.get("cost_micros")?,
        priced: turn_rows::priced(conn, &id)?,
        changes: row.get("changes")?,
        commands: row.get("commands")?,
        created_at: Timestamp(row.get("created_at")?),
        queued_at: time("queued_at")?,
        started_at: time("started_at")?,
        ended_at: time("ended_at")?,
        updated_at: Timestamp(row.get("updated_at")?),
        id: id.parse().map_err(unreadable)?,
    })
}
