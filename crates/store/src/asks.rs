//! Asks as rows: those that wait for a decision, and those that were decided.

use protocol::api::{AskState, AskView, AsksParams, AsksResult};
use protocol::{Ask, AskDecision, AskId, CallId, DecidedBy, SessionId, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::unreadable;
use crate::event::{from_json, to_json};

/// Rows of a page if the caller sets no limit.
const DEFAULT_PAGE_ROWS: u64 = 100;

pub(crate) fn open(conn: &Connection, task: TaskId, ask: &Ask, at: Timestamp) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO bosun_asks (id, task, call, body, state, asked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![ask.id.0, task.to_string(), ask.call.0, to_json(ask)?, to_json(&AskState::Open)?, at.0])?;
    Ok(())
}

pub(crate) fn decide(
    conn: &Connection,
    id: &AskId,
    decision: &AskDecision,
    by: DecidedBy,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let state = AskState::Decided { decision: decision.clone(), by, at };
    conn.prepare_cached("UPDATE bosun_asks SET state = ?2, open = 0 WHERE id = ?1 AND open")?
        .execute(params![id.0, to_json(&state)?])?;
    Ok(())
}

/// Withdraws the open asks of an answered call.
pub(crate) fn withdraw(conn: &Connection, task: TaskId, call: &CallId) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE bosun_asks SET state = ?3, open = 0 WHERE task = ?1 AND call = ?2 AND open")?
        .execute(params![task.to_string(), call.0, to_json(&AskState::Withdrawn)?])?;
    Ok(())
}

/// One page of the asks, oldest first: only the open ones, which have their own index, or all.
pub(crate) fn page(conn: &Connection, session: SessionId, params: &AsksParams) -> rusqlite::Result<AsksResult> {
    let condition = if params.all { "" } else { "WHERE open" };
    let clamp = |number: u64| number.min(i64::MAX.unsigned_abs());
    let asks = conn
        .prepare_cached(&format!(
            "SELECT bosun_asks.*, bosun_tasks.path FROM bosun_asks JOIN bosun_tasks ON bosun_tasks.id = bosun_asks.task
             {condition} ORDER BY bosun_asks.row LIMIT ?1 OFFSET ?2",
        ))?
        .query_map([clamp(params.limit.unwrap_or(DEFAULT_PAGE_ROWS)), clamp(params.offset)], |row| {
            ask_view(row, session)
        })?
        .collect::<rusqlite::Result<_>>()?;
    let total = conn
        .prepare_cached(&format!("SELECT count(*) FROM bosun_asks {condition}"))?
        .query_row([], |row| row.get(0))?;
    Ok(AsksResult { asks, total })
}

/// The number of an ask in its session; none if there is no such ask.
pub(crate) fn number(conn: &Connection, id: &AskId) -> rusqlite::Result<Option<u64>> {
    conn.prepare_cached("SELECT row FROM bosun_asks WHERE id = ?1")?.query_row([&id.0], |row| row.get(0)).optional()
}

fn ask_view(row: &Row<'_>, session: SessionId) -> rusqlite::Result<AskView> {
    Ok(AskView {
        session,
        number: row.get("row")?,
        task: row.get::<_, String>("task")?.parse().map_err(unreadable)?,
        path: row.get("path")?,
        asked_at: Timestamp(row.get("asked_at")?),
        ask: from_json(&row.get::<_, String>("body")?)?,
        state: from_json(&row.get::<_, String>("state")?)?,
    })
}
