//! Tasks as rows, and how events change them. Each event changes its task's row at most once, because a thousand agents
//! may write at the same time.

use protocol::api::CancelView;
use protocol::{
    Activation, Attempt, Evidence, ExternalReport, McpProgress, McpTaskReport, ModelUse, TaskId, TaskOutcome, TaskSpec,
    TaskState, Timestamp, clip_middle,
};
use rusqlite::{Connection, params};

use crate::event::to_json;

/// Maximum bytes of a result in a view; the log has all of it.
const MAX_RESULT_BYTES: usize = 8 * 1024;

pub(crate) fn create(conn: &Connection, task: TaskId, spec: &TaskSpec, at: Timestamp) -> rusqlite::Result<()> {
    let (path, depth) = match spec.parent {
        None => ("/root".to_owned(), 0),
        Some(parent) => conn
            .prepare_cached("SELECT path, depth FROM bosun_tasks WHERE id = ?1")?
            .query_row([parent.to_string()], |row| {
                Ok((format!("{}/{}", row.get::<_, String>(0)?, spec.name), row.get::<_, u32>(1)? + 1))
            })?,
    };
    // The root is idle until its first mail; every other task is created with mail.
    let (state, queued_at) =
        if spec.kind.is_root() { (TaskState::Idle, None) } else { (TaskState::Queued, Some(at.0)) };
    conn.prepare_cached(
        "INSERT INTO bosun_tasks (id, parent, kind, agent, path, description, state, created_at, updated_at, name,
                                  depth, mode, model, effort, queued_at, external, mcp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute(params![
        task.to_string(),
        spec.parent.map(|parent| parent.to_string()),
        to_json(&spec.kind)?,
        spec.agent,
        path,
        spec.description,
        to_json(&state)?,
        at.0,
        spec.name,
        depth,
        to_json(&spec.mode)?,
        spec.model.as_ref().map(to_json).transpose()?,
        spec.effort.as_ref().map(to_json).transpose()?,
        queued_at,
        spec.external.clone().map(|spec| to_json(&ExternalReport::new(*spec, at))).transpose()?,
        spec.mcp.clone().map(|spec| to_json(&McpTaskReport::new(*spec, at))).transpose()?,
    ])?;
    Ok(())
}

/// Changes the state of a task without starting or ending an activation. A finished task does not change any more.
pub(crate) fn set_state(conn: &Connection, task: TaskId, state: &TaskState, at: Timestamp) -> rusqlite::Result<()> {
    let changed = conn
        .prepare_cached(
            "UPDATE bosun_tasks SET state = ?2, queued_at = ?3, stalled_at = NULL, updated_at = ?4
             WHERE id = ?1 AND NOT finished",
        )?
        .execute(params![task.to_string(), to_json(state)?, (*state == TaskState::Queued).then_some(at.0), at.0])?;
    touch_if_late(changed, conn, task, at)
}

/// Records that a task has ended for good.
pub(crate) fn finish(conn: &Connection, task: TaskId, outcome: &TaskOutcome, at: Timestamp) -> rusqlite::Result<()> {
    let state = TaskState::Finished { outcome: outcome.clone() };
    let changed = conn
        .prepare_cached(
            "UPDATE bosun_tasks SET state = ?2, finished = 1, queued_at = NULL, stalled_at = NULL, ended_at = ?3,
                                    updated_at = ?3
             WHERE id = ?1 AND NOT finished",
        )?
        .execute(params![task.to_string(), to_json(&state)?, at.0])?;
    touch_if_late(changed, conn, task, at)
}

/// Records that an activation, or a new attempt at it, started.
pub(crate) fn start_activation(
    conn: &Connection,
    task: TaskId,
    activation: Activation,
    attempt: Attempt,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let changed = conn
        .prepare_cached(
            "UPDATE bosun_tasks SET activation = ?2, attempt = ?3, state = ?4, queued_at = NULL, ended_at = NULL,
                                    started_at = iif(?3 = 1, ?5, ifnull(started_at, ?5)),
                                    cancel = iif(?3 = 1, NULL, cancel), stalled_at = NULL, updated_at = ?5
             WHERE id = ?1 AND NOT finished",
        )?
        .execute(params![task.to_string(), activation.0, attempt.0, to_json(&TaskState::Running)?, at.0])?;
    touch_if_late(changed, conn, task, at)
}

/// Records that an activation ended.
pub(crate) fn end_activation(
    conn: &Connection,
    task: TaskId,
    outcome: &TaskOutcome,
    text: &str,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let changed = conn
        .prepare_cached(
            "UPDATE bosun_tasks SET last_outcome = ?2, result = ?3, state = ?4, queued_at = NULL, stalled_at = NULL,
                                    ended_at = ?5, updated_at = ?5
             WHERE id = ?1 AND NOT finished",
        )?
        .execute(params![
            task.to_string(),
            to_json(outcome)?,
            clip_middle(text, MAX_RESULT_BYTES),
            to_json(&TaskState::Idle)?,
            at.0
        ])?;
    touch_if_late(changed, conn, task, at)
}

/// Records that a task uses another agent definition.
pub(crate) fn select_agent(
    conn: &Connection,
    task: TaskId,
    agent: &str,
    model: Option<&ModelUse>,
    at: Timestamp,
) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET agent = ?2, model = ?3, updated_at = ?4 WHERE id = ?1")?
        .execute(params![task.to_string(), agent, model.map(to_json).transpose()?, at.0])?;
    Ok(())
}

/// Records the session's model for every agent that uses it (see [`protocol::ModelUse::is_session_model`]).
pub(crate) fn set_session_model(conn: &Connection, model: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE bosun_tasks SET model = json_set(model, '$.effective', ?1)
         WHERE NOT finished AND (model ->> '$.why' IS NOT NULL OR
                                 model IS NOT NULL AND ifnull(model ->> '$.requested', 'inherit') = 'inherit')",
    )?
    .execute([model])?;
    Ok(())
}

/// Records the model chosen for the root, which overrides its definition.
pub(crate) fn set_root_model(conn: &Connection, root: TaskId, model: &str) -> rusqlite::Result<()> {
    let chosen = ModelUse { requested: Some(model.to_owned()), effective: model.to_owned(), why: None };
    conn.prepare_cached("UPDATE bosun_tasks SET model = ?2 WHERE id = ?1 AND model IS NOT NULL")?
        .execute([root.to_string(), to_json(&chosen)?])?;
    Ok(())
}

pub(crate) fn promote(conn: &Connection, task: TaskId, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET mode = ?2, updated_at = ?3 WHERE id = ?1")?.execute(params![
        task.to_string(),
        to_json(&protocol::TaskMode::Background)?,
        at.0
    ])?;
    Ok(())
}

pub(crate) fn cancel(conn: &Connection, task: TaskId, request: &CancelView, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET cancel = ?2, updated_at = ?3 WHERE id = ?1")?.execute(params![
        task.to_string(),
        to_json(request)?,
        at.0
    ])?;
    Ok(())
}

/// Records since when a task has been silent, or that it is active again.
pub(crate) fn stall(conn: &Connection, task: TaskId, since: Option<Timestamp>, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET stalled_at = ?2, updated_at = ?3 WHERE id = ?1")?.execute(params![
        task.to_string(),
        since.map(|since| since.0),
        at.0
    ])?;
    Ok(())
}

pub(crate) fn forget(conn: &Connection, task: TaskId, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET forgotten = 1, updated_at = ?2 WHERE id = ?1")?
        .execute(params![task.to_string(), at.0])?;
    Ok(())
}

pub(crate) fn report_intent(conn: &Connection, task: TaskId, intent: &str, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET intent = ?2, updated_at = ?3 WHERE id = ?1")?.execute(params![
        task.to_string(),
        intent,
        at.0
    ])?;
    Ok(())
}

/// Records how far a running call of a task is.
pub(crate) fn report_progress(
    conn: &Connection,
    task: TaskId,
    tool: &str,
    progress: &McpProgress,
    at: Timestamp,
) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET progress = ?2, updated_at = ?3 WHERE id = ?1")?.execute(params![
        task.to_string(),
        format!("{tool}: {progress}"),
        at.0
    ])?;
    Ok(())
}

/// Records what a client reported of its task.
pub(crate) fn report_external(
    conn: &Connection,
    task: TaskId,
    report: &ExternalReport,
    at: Timestamp,
) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET external = ?2, intent = ?3, updated_at = ?4 WHERE id = ?1")?
        .execute(params![task.to_string(), to_json(report)?, report.summary(), at.0])?;
    Ok(())
}

/// Records what the server of an MCP task says of it.
pub(crate) fn report_mcp(
    conn: &Connection,
    task: TaskId,
    report: &McpTaskReport,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let kind = report.task_type().map(|kind| to_json(&kind)).transpose()?;
    conn.prepare_cached(
        "UPDATE bosun_tasks SET kind = coalesce(?2, kind), mcp = ?3, intent = ?4, updated_at = ?5 WHERE id = ?1",
    )?
    .execute(params![task.to_string(), kind, to_json(report)?, report.summary(), at.0])?;
    Ok(())
}

/// Counts the evidence of a call that was answered, which reports no more progress.
pub(crate) fn count_evidence(
    conn: &Connection,
    task: TaskId,
    evidence: &[Evidence],
    at: Timestamp,
) -> rusqlite::Result<()> {
    let changes = evidence.iter().filter(|piece| matches!(piece, Evidence::Changed { .. })).count();
    conn.prepare_cached(
        "UPDATE bosun_tasks
         SET changes = changes + ?2, commands = commands + ?3, progress = NULL, updated_at = ?4 WHERE id = ?1",
    )?
    .execute(params![task.to_string(), changes, evidence.len() - changes, at.0])?;
    Ok(())
}

/// Changes the count of unread mail.
pub(crate) fn change_unread(conn: &Connection, task: TaskId, change: i64, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET unread = max(0, unread + ?2), updated_at = ?3 WHERE id = ?1")?
        .execute(params![task.to_string(), change, at.0])?;
    Ok(())
}

/// Records the time of an event that changes no other column.
pub(crate) fn touch(conn: &Connection, task: TaskId, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_tasks SET updated_at = ?2 WHERE id = ?1")?
        .execute(params![task.to_string(), at.0])?;
    Ok(())
}

/// Records the time of an event that came too late to change the task.
fn touch_if_late(changed: usize, conn: &Connection, task: TaskId, at: Timestamp) -> rusqlite::Result<()> {
    if changed > 0 { Ok(()) } else { touch(conn, task, at) }
}
