//! The records of tasks, as views read them. What ran under an owner that is dead is shown as interrupted, or lost if it
//! was a command: nothing looks alive that is not, and nothing has to be written for that.

use protocol::api::{TaskRecord, TaskView, TasksPage, TasksParams};
use protocol::{Activation, At, Attempt, Evidence, Expects, Kind, TaskId, TaskState};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::unreadable;
use crate::event::{from_json, json};
use crate::turns::{self, usage};
use crate::{lease, mail};

/// Most pieces of mail, turns, and pieces of evidence in one record.
const MAIL: u32 = 200;
const TURNS: u32 = 500;
const EVIDENCE: usize = 200;

/// Rows of a page unless the caller says otherwise.
const PAGE: u64 = 100;

/// One page of the tasks that are wanted, oldest first.
pub(crate) fn page(conn: &Connection, wanted: &TasksParams) -> rusqlite::Result<TasksPage> {
    let owned = is_owned(conn)?;
    let kind = wanted.kind.as_ref().map(json).transpose()?;
    let mut select = conn.prepare_cached(
        "SELECT * FROM bosun_tasks
         WHERE (?1 OR NOT forgotten) AND (?2 IS NULL OR kind = ?2)
           AND (?3 IS NULL OR path = ?3 OR substr(path, 1, length(?3) + 1) = ?3 || '/')
         ORDER BY row",
    )?;
    let mut rows = select.query(params![wanted.all, kind, wanted.below])?;
    let mut page = TasksPage { tasks: Vec::new(), total: 0 };
    let end = wanted.offset.saturating_add(wanted.limit.unwrap_or(PAGE));
    while let Some(row) = rows.next()? {
        // Not in SQL: what a state is depends on who is alive.
        if let Some(word) = &wanted.state
            && state(row, owned)?.1.word() != word
        {
            continue;
        }
        if (wanted.offset..end).contains(&page.total) {
            page.tasks.push(view(conn, row, owned)?);
        }
        page.total += 1;
    }
    Ok(page)
}

/// One task; none if there is no such task.
pub(crate) fn task(conn: &Connection, task: TaskId) -> rusqlite::Result<Option<TaskView>> {
    let owned = is_owned(conn)?;
    conn.prepare_cached("SELECT * FROM bosun_tasks WHERE id = ?1")?
        .query_row([task.to_string()], |row| view(conn, row, owned))
        .optional()
}

/// The session's root; none before its first event.
pub(crate) fn root(conn: &Connection) -> rusqlite::Result<Option<TaskView>> {
    let owned = is_owned(conn)?;
    conn.prepare_cached("SELECT * FROM bosun_tasks WHERE parent IS NULL ORDER BY row LIMIT 1")?
        .query_row([], |row| view(conn, row, owned))
        .optional()
}

/// Everything that is kept of one task; none if there is no such task.
pub(crate) fn record(conn: &Connection, id: TaskId) -> rusqlite::Result<Option<TaskRecord>> {
    let Some(task) = task(conn, id)? else { return Ok(None) };
    let (mail, mail_total) = mail::of_task(conn, id, MAIL)?;
    let (turns, turns_total) = turns::of_task(conn, id, TURNS)?;
    let (expects, evidence) = (expects(conn, id)?, evidence(conn, id)?);
    Ok(Some(TaskRecord { task, expects, mail, mail_total, turns, turns_total, evidence }))
}

/// Whether a living process owns the session.
fn is_owned(conn: &Connection) -> rusqlite::Result<bool> {
    Ok(lease::read(conn)?.is_some_and(|lease| lease.live_pid().is_some()))
}

fn expects(conn: &Connection, task: TaskId) -> rusqlite::Result<Option<Expects>> {
    let text = conn
        .prepare_cached(
            "SELECT body -> '$.expects' FROM bosun_events WHERE task = ?1 AND type = 'taskCreated' ORDER BY seq LIMIT 1",
        )?
        .query_row([task.to_string()], |row| row.get::<_, Option<String>>(0))
        .optional()?;
    text.flatten().map_or(Ok(None), |text| from_json(&text))
}

/// What a task's calls left behind, the newest of it, each thing once.
fn evidence(conn: &Connection, task: TaskId) -> rusqlite::Result<Vec<Evidence>> {
    let mut select = conn.prepare_cached(
        "SELECT body -> '$.evidence' FROM bosun_events
         WHERE task = ?1 AND type = 'callAnswered' AND body -> '$.evidence' IS NOT NULL ORDER BY seq DESC",
    )?;
    let mut rows = select.query([task.to_string()])?;
    let mut found: Vec<Evidence> = Vec::new();
    while let Some(row) = rows.next()? {
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

fn state(row: &Row<'_>, owned: bool) -> rusqlite::Result<(Kind, TaskState)> {
    let kind = from_json(&row.get::<_, String>("kind")?)?;
    let state: TaskState = from_json(&row.get::<_, String>("state")?)?;
    Ok((kind, if owned { state } else { state.unowned(kind) }))
}

fn view(conn: &Connection, row: &Row<'_>, owned: bool) -> rusqlite::Result<TaskView> {
    let text = |column| row.get::<_, String>(column);
    let maybe = |column| row.get::<_, Option<String>>(column);
    let moment = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<u64>>(column)?.map(At));
    let (id, (kind, state)) = (text("id")?, state(row, owned)?);
    Ok(TaskView {
        parent: maybe("parent")?.map(|parent| parent.parse().map_err(unreadable)).transpose()?,
        kind,
        agent: text("agent")?,
        name: text("name")?,
        path: text("path")?,
        depth: row.get("depth")?,
        description: text("description")?,
        prompt: mail::prompt(conn, &id)?,
        mode: from_json(&text("mode")?)?,
        model: maybe("model")?.map(|model| from_json(&model)).transpose()?,
        reported_model: maybe("reported")?,
        effort: maybe("effort")?.map(|effort| from_json(&effort)).transpose()?,
        status: state.outer(),
        state,
        stalled_since_at: moment("stalled_at")?.filter(|_| owned),
        cancel: maybe("cancel")?.map(|cancel| from_json(&cancel)).transpose()?,
        forgotten: row.get("forgotten")?,
        activation: Activation(row.get("activation")?),
        attempt: Attempt(row.get("attempt")?),
        unread: row.get("unread")?,
        last_outcome: maybe("last_outcome")?.map(|outcome| from_json(&outcome)).transpose()?,
        intent: maybe("intent")?,
        result: maybe("result")?,
        turns: row.get("turns")?,
        usage: usage(row)?,
        cost_micros: row.get("cost_micros")?,
        priced: turns::priced(conn, &id)?,
        changes: row.get("changes")?,
        commands: row.get("commands")?,
        created_at: At(row.get("created_at")?),
        queued_at: moment("queued_at")?,
        started_at: moment("started_at")?,
        ended_at: moment("ended_at")?,
        updated_at: At(row.get("updated_at")?),
        id: id.parse().map_err(unreadable)?,
    })
}
