//! Views of a session, which any process can read at any time. A reader holds no lock that the writer waits for, and
//! each answer is a consistent snapshot.

use std::path::{Path, PathBuf};

use host::{Home, ProcessIdentity};
use protocol::api::{
    AskView, AsksParams, AsksResult, CommandOutcome, SessionCommand, SessionView, TaskRecord, TaskView, TasksPage,
    TasksParams, TodosPage, TodosParams,
};
use protocol::{
    AgentLimits, AskId, Budget, CallId, Cost, Envelope, Fence, ListName, PermissionMode, SessionId, SessionMode,
    TaskId, TaskState, Timestamp, TodoId,
};
use rusqlite::{Connection, OptionalExtension};

use crate::error::sqlite_error;
use crate::event::from_json;
use crate::session::open_to_read;
use crate::todos::{self, TodoChanges, TodoRow};
use crate::turn_rows::{self, TaskSpending, usage};
use crate::{StoreError, asks, event, lease, project, task_records};

/// A read-only view of a session's file, with or without an owner.
#[derive(Debug)]
pub struct SessionReader {
    id: SessionId,
    path: PathBuf,
    conn: Connection,
}

impl SessionReader {
    /// Opens a session for reading.
    pub fn open(home: &Home, id: SessionId) -> Result<SessionReader, StoreError> {
        let path = home.session_db(id);
        let conn = open_to_read(home, id, &path)?;
        Ok(SessionReader { id, path, conn })
    }

    /// A reader on an open database.
    pub(crate) fn from_connection(id: SessionId, path: PathBuf, conn: Connection) -> SessionReader {
        SessionReader { id, path, conn }
    }

    /// The session's id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The file it reads.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The events after `seq`, at most `limit` of them.
    pub fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError> {
        self.query(|conn| event::events_after(conn, self.id, seq, limit))
    }

    /// Every event of one task.
    pub fn task_events(&self, task: TaskId) -> Result<Vec<Envelope>, StoreError> {
        self.task_events_after(task, 0)
    }

    /// The events of one task after `seq`.
    pub fn task_events_after(&self, task: TaskId, seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.query(|conn| event::task_events(conn, self.id, task, seq))
    }

    /// The events of one task that hold its outcomes and evidence.
    pub fn task_outcome_events(&self, task: TaskId) -> Result<Vec<Envelope>, StoreError> {
        self.query(|conn| event::outcome_events(conn, self.id, task))
    }

    /// One page of the session's tasks, oldest first.
    pub fn tasks(&self, params: &TasksParams) -> Result<TasksPage, StoreError> {
        self.query(|conn| task_records::page(conn, params))
    }

    /// One task; none if there is no such task.
    pub fn task(&self, task: TaskId) -> Result<Option<TaskView>, StoreError> {
        self.query(|conn| task_records::task(conn, task))
    }

    /// The tool call that started a task; none if the user started it.
    pub fn starting_call(&self, task: TaskId) -> Result<Option<CallId>, StoreError> {
        self.query(|conn| task_records::starting_call(conn, task))
    }

    /// The full record of one task; none if there is no such task.
    pub fn record(&self, task: TaskId) -> Result<Option<TaskRecord>, StoreError> {
        self.query(|conn| task_records::record(conn, task))
    }

    /// The session, as clients see it.
    pub fn session_view(&self) -> Result<SessionView, StoreError> {
        self.query(|conn| session_view(conn, self.id))
    }

    /// Everything that was spent on turns that began at `since` or later, oldest first.
    pub fn spendings(&self, since: Timestamp) -> Result<Vec<TaskSpending>, StoreError> {
        self.query(|conn| turn_rows::spendings(conn, since))
    }

    /// The open asks, oldest first; with `all` also those that were decided or withdrawn.
    pub fn asks(&self, all: bool) -> Result<Vec<AskView>, StoreError> {
        Ok(self.asks_page(&AsksParams { all, limit: Some(u64::MAX), ..AsksParams::default() })?.asks)
    }

    /// The number of an ask in the session; none if there is no such ask.
    pub fn ask_number(&self, ask: &AskId) -> Result<Option<u64>, StoreError> {
        self.query(|conn| asks::number(conn, ask))
    }

    /// One page of asks.
    pub fn asks_page(&self, params: &AsksParams) -> Result<AsksResult, StoreError> {
        self.query(|conn| asks::page(conn, self.id, params))
    }

    /// The commands that no owner has applied yet, oldest first. A command from a newer version is skipped and stays
    /// for an owner that understands it.
    pub fn pending_commands(&self) -> Result<Vec<(i64, SessionCommand)>, StoreError> {
        let rows: Vec<(i64, String)> = self.query(|conn| {
            conn.prepare_cached("SELECT id, body FROM bosun_commands WHERE applied_at IS NULL ORDER BY id")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })?;
        let parse_known = |(id, body): (i64, String)| serde_json::from_str(&body).ok().map(|command| (id, command));
        Ok(rows.into_iter().filter_map(parse_known).collect())
    }

    /// All todos, in the order they were written.
    pub fn todos(&self) -> Result<Vec<TodoRow>, StoreError> {
        self.query(todos::all_rows)
    }

    /// One todo; none if there is no such todo.
    pub fn todo(&self, id: &TodoId) -> Result<Option<TodoRow>, StoreError> {
        self.query(|conn| todos::row(conn, id))
    }

    /// One page of the todos, in the order they were written.
    pub fn todos_page(&self, params: &TodosParams) -> Result<TodosPage, StoreError> {
        self.query(|conn| todos::page(conn, params))
    }

    /// The result of a task's latest ended activation.
    pub fn result(&self, task: TaskId) -> Result<Option<String>, StoreError> {
        self.query(|conn| {
            let mut select = conn.prepare_cached("SELECT result FROM bosun_tasks WHERE id = ?1")?;
            Ok(select.query_row([task.to_string()], |row| row.get(0)).optional()?.flatten())
        })
    }

    /// The todos that were changed since the runtime last recorded them, by author. Returns at most one chunk; the rest
    /// follows once that is recorded. `vouched` says whether the owner vouches for the change with this number.
    pub fn todo_changes(&self, vouched: &dyn Fn(i64) -> bool) -> Result<Vec<TodoChanges>, StoreError> {
        self.query(|conn| todos::changes(conn, vouched))
    }

    /// The outcome of a command; none while no owner has applied it.
    pub fn command_outcome(&self, id: i64) -> Result<Option<CommandOutcome>, StoreError> {
        self.query(|conn| {
            let outcome = conn
                .prepare_cached("SELECT outcome FROM bosun_commands WHERE id = ?1 AND applied_at IS NOT NULL")?
                .query_row([id], |row| row.get::<_, Option<String>>(0))
                .optional()?;
            outcome.flatten().map(|outcome| from_json(&outcome)).transpose()
        })
    }

    /// The process that holds the lease, dead or alive; none after a clean end.
    pub fn lease(&self) -> Result<Option<(Fence, ProcessIdentity)>, StoreError> {
        let lease = self.query(lease::read)?;
        Ok(lease.and_then(|lease| lease.holder.map(|holder| (lease.fence, holder))))
    }

    /// The process that runs the session now.
    pub fn live_owner(&self) -> Result<Option<u32>, StoreError> {
        Ok(self.query(lease::read)?.and_then(|lease| lease.live_pid()))
    }

    /// Runs a query within one transaction, so that all parts of the answer are consistent.
    pub(crate) fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let run = || -> rusqlite::Result<T> {
            let snapshot = self.conn.unchecked_transaction()?;
            let answer = query(&snapshot)?;
            snapshot.finish()?;
            Ok(answer)
        };
        run().map_err(|error| self.add_integrity_check(sqlite_error(&self.path)(error)))
    }

    /// Adds the result of an integrity check to an error about damage.
    fn add_integrity_check(&self, error: StoreError) -> StoreError {
        let StoreError::Corrupt { path, detail } = error else { return error };
        let check = self.conn.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match check {
            Ok(finding) if finding != "ok" => StoreError::Corrupt { path, detail: format!("{detail}: {finding}") },
            Ok(_) | Err(_) => StoreError::Corrupt { path, detail },
        }
    }
}

pub(crate) fn session_view(conn: &Connection, id: SessionId) -> rusqlite::Result<SessionView> {
    let meta_text = |key| Ok::<_, rusqlite::Error>(project::meta(conn, key)?.unwrap_or_default());
    let root = task_records::root(conn)?;
    let (turns, usage, spent) = conn.query_row(
        "SELECT ifnull(sum(turns), 0) AS turns, ifnull(sum(input), 0) AS input, ifnull(sum(output), 0) AS output,
                ifnull(sum(cache_read), 0) AS cache_read, ifnull(sum(cache_write), 0) AS cache_write,
                ifnull(sum(cost_tokens), 0) AS tokens, ifnull(sum(cost_micros), 0) AS micros
         FROM bosun_tasks",
        [],
        |row| Ok((row.get("turns")?, usage(row)?, Cost { tokens: row.get("tokens")?, micros: row.get("micros")? })),
    )?;
    let created_at = Timestamp(meta_text("created_at")?.parse().unwrap_or_default());
    let updated_at = conn
        .query_row("SELECT at FROM bosun_events ORDER BY seq DESC LIMIT 1", [], |row| row.get(0).map(Timestamp))
        .optional()?;
    Ok(SessionView {
        id,
        cwd: meta_text("cwd")?,
        model: meta_text("model")?,
        permission: project::meta(conn, "permission")?
            .map_or(Ok(PermissionMode::Default), |permission| from_json(&permission))?,
        mode: project::meta(conn, "mode")?.map_or(Ok(SessionMode::default()), |mode| from_json(&mode))?,
        rules: project::meta(conn, "rules")?.map_or(Ok(Vec::new()), |rules| from_json(&rules))?,
        roots: project::meta(conn, "roots")?.map_or(Ok(Vec::new()), |roots| from_json(&roots))?,
        ask_user: project::meta(conn, "ask_user")?.map_or(Ok(true), |asks| from_json(&asks))?,
        max_turns: project::meta(conn, "max_turns")?.map_or(Ok(None), |turns| from_json(&turns))?,
        limits: project::meta(conn, "limits")?.map_or(Ok(AgentLimits::default()), |limits| from_json(&limits))?,
        budget: project::meta(conn, "budget")?.map_or(Ok(Budget::default()), |budget| from_json(&budget))?,
        effort: project::meta(conn, "effort")?.map_or(Ok(None), |effort| from_json(&effort))?,
        list: project::meta(conn, "list")?.map_or(Ok(ListName::Session), |list| from_json(&list))?,
        title: meta_text("title")?,
        created_at,
        updated_at: updated_at.unwrap_or(created_at),
        state: match &root {
            Some(root) => task_records::session_state(conn, &root.state)?,
            None => TaskState::Queued,
        },
        last_outcome: root.and_then(|root| root.last_outcome),
        owner_pid: lease::read(conn)?.and_then(|lease| lease.live_pid()),
        events: event::last_seq(conn)?,
        turns,
        usage,
        spent,
        priced: turn_rows::all_priced(conn)?,
    })
}
