//! The API's answers about everything in Bosun's home. Any process of the user gives the same ones.

use host::Home;
use protocol::SessionId;
use protocol::api::{
    AllAsksParams, FolderParams, FoundSession, ListParams, Method, Nothing, RepairResult, SessionIdParams,
    SessionOverview, SessionPrefixParams, SessionsOfTask, SessionsPage, SessionsParams, TaskPrefixParams, UsageParams,
};
use serde_json::Value;
use store::{SessionPage, SessionQuery, SessionRow};

use crate::answers::{parse, to_json};
use crate::asks::AskFilter;
use crate::{ClientError, asks, lists, sessions, usage};

/// The maximum number of sessions of a page.
const MAX_PAGE_ROWS: u64 = 1000;

/// The default number of sessions of a page.
const DEFAULT_PAGE_ROWS: u64 = 100;

/// How many sessions with a task of some id are named.
const MAX_SESSIONS_OF_TASK: u32 = 10;

/// Answers a method that belongs to no session, on a thread for blocking work.
pub async fn call_home(home: &Home, method: Method, params: Value) -> Result<Value, ClientError> {
    let home = home.clone();
    let answering = tokio::task::spawn_blocking(move || answer_home(&home, method, params));
    answering.await.unwrap_or_else(|ended| Err(ClientError::internal(ended)))
}

/// Answers a method that belongs to no session. It reads and writes files.
pub fn answer_home(home: &Home, method: Method, params: Value) -> Result<Value, ClientError> {
    match method {
        Method::SessionsList => to_json(list_sessions(home, parse(params)?)?),
        Method::SessionsFind => {
            let SessionPrefixParams { prefix } = parse(params)?;
            to_json(SessionIdParams { session: sessions::find(home, &prefix)? })
        }
        Method::SessionsLatest => {
            let FolderParams { cwd } = parse(params)?;
            to_json(FoundSession { session: sessions::latest(home, &cwd)? })
        }
        Method::SessionsRemove => {
            sessions::remove(home, session_of(params)?)?;
            to_json(Nothing {})
        }
        Method::SessionsRepair => to_json(RepairResult { last_seq: sessions::repair(home, session_of(params)?)? }),
        Method::TasksFind => {
            let TaskPrefixParams { prefix } = parse(params)?;
            to_json(SessionsOfTask { sessions: sessions::of_task(home, &prefix, MAX_SESSIONS_OF_TASK)? })
        }
        Method::AsksAll => {
            let AllAsksParams { all } = parse(params)?;
            let filter = if all { AskFilter::All } else { AskFilter::Open };
            to_json(asks::of_waiting_sessions(home, filter)?)
        }
        Method::UsageGet => to_json(usage::report(home, &parse::<UsageParams>(params)?.into())?),
        Method::ListsItems => to_json(lists::items(home, &parse(params)?)?),
        Method::ListsGet => to_json(lists::get(home, &parse(params)?)?),
        Method::ListsAdd => to_json(lists::add(home, parse(params)?)?),
        Method::ListsUpdate => to_json(lists::update(home, parse(params)?)?),
        Method::ListsArchive => to_json(lists::archive(home, &parse(params)?)?),
        Method::ListsExport => to_json(lists::export(home, &parse::<ListParams>(params)?.list)?),
        Method::ListsImport => to_json(lists::import(home, &parse(params)?)?),
        other => Err(ClientError::WrongScope(other)),
    }
}

fn session_of(params: Value) -> Result<SessionId, ClientError> {
    parse(params).map(|SessionIdParams { session }| session)
}

fn list_sessions(home: &Home, params: SessionsParams) -> Result<SessionsPage, ClientError> {
    let SessionsParams { cwd, state, offset, limit } = params;
    let limit = Some(limit.unwrap_or(DEFAULT_PAGE_ROWS).min(MAX_PAGE_ROWS));
    let SessionPage { rows, total } = sessions::list(home, &SessionQuery { cwd, state, offset, limit })?;
    Ok(SessionsPage { sessions: rows.into_iter().map(overview).collect(), total })
}

fn overview(row: SessionRow) -> SessionOverview {
    let SessionRow { id, cwd, title, model, created_at, updated_at, state, has_open_asks: _, spent, priced, owner_pid } =
        row;
    SessionOverview { id, state, cwd, title, model, spent, priced, owner_pid, created_at, updated_at }
}
