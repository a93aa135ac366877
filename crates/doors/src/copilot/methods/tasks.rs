//! `session.tasks.*`: the agents and commands of a session, and the tasks that clients run themselves.

mod output;
mod view;

use protocol::api::{
    ErrandIdParams, Method, RefusalKind, SendParams, StartAgentParams, StartAgentResult, StopTaskParams, TaskParams,
    TaskRecord, TaskView, TasksPage, TasksParams,
};
use protocol::{Cancel, Delivery, Kind, TaskId};
use rpc::ErrorObject;
use serde_json::{Value, json};
use store::Reader;

use super::fields::{maybe, text};
use super::unhandled;
use crate::copilot::client_tasks;
use crate::copilot::held::Held;
use crate::copilot::visit::Visit;

/// How many tasks are asked for at once.
const PAGE: u64 = 1_000;

pub(crate) async fn call(visit: &Visit, session: &Held, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match method {
        "session.tasks.list" => list(session).await,
        "session.tasks.startAgent" => start_agent(session, &params).await,
        "session.tasks.getProgress" => progress(session, &params).await,
        "session.tasks.sendMessage" => send(session, &params).await,
        "session.tasks.cancel" => cancel(session, &params).await,
        "session.tasks.remove" => remove(session, &params).await,
        "session.tasks.promoteToBackground" => {
            let task = named(&params)?;
            let done: Result<Value, _> = session.call(Method::TasksPromote, TaskParams { task }).await;
            Ok(json!({ "promoted": unless_refused(done)? }))
        }
        "session.tasks.getCurrentPromotable" => match promotable(session).await? {
            Some(task) => Ok(json!({ "task": described(session, &task)? })),
            None => Ok(json!({})),
        },
        "session.tasks.promoteCurrentToBackground" => promote_current(session).await,
        "session.tasks.waitForPending" => {
            session.quiet().await;
            Ok(json!({}))
        }
        // What is listed is always as it is.
        "session.tasks.refresh" => Ok(json!({})),
        "session.tasks.readOutput" => output::read(session, &params).await,
        "session.tasks.register" => client_tasks::register(session, visit.peer(), &params).await,
        "session.tasks.update" => client_tasks::update(session, &visit.peer(), &params).await,
        other => Err(unhandled(other)),
    }
}

async fn list(session: &Held) -> Result<Value, ErrorObject> {
    let mut tasks = Vec::new();
    for task in below_root(session).await? {
        tasks.push(described(session, &task)?);
    }
    tasks.extend(client_tasks::all(session).await?.iter().map(client_tasks::described));
    Ok(json!({ "tasks": tasks }))
}

/// Every task but the session's own.
async fn below_root(session: &Held) -> Result<Vec<TaskView>, ErrorObject> {
    let (mut all, mut offset) = (Vec::new(), 0);
    loop {
        let wanted = TasksParams { offset, limit: Some(PAGE), ..TasksParams::default() };
        let TasksPage { tasks, total } = session.call(Method::TasksList, wanted).await?;
        let is_last = tasks.is_empty();
        offset += tasks.len() as u64;
        all.extend(tasks.into_iter().filter(|task| task.kind != Kind::Main));
        if is_last || offset >= total {
            return Ok(all);
        }
    }
}

fn described(session: &Held, task: &TaskView) -> Result<Value, ErrorObject> {
    let call = Reader::open(session.home(), session.id()).and_then(|reader| reader.call_of(task.id));
    Ok(view::task(task, call.map_err(ErrorObject::internal)?.as_ref()))
}

async fn start_agent(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let wanted = StartAgentParams {
        agent: text(params, "agentType")?.to_owned(),
        prompt: text(params, "prompt")?.to_owned(),
        name: maybe(params, "name").map(str::to_owned),
        description: maybe(params, "description").map(str::to_owned),
        model: maybe(params, "model").map(str::to_owned),
    };
    session.take_up().await?;
    let StartAgentResult { task } = session.call(Method::AgentsStart, wanted).await?;
    Ok(json!({ "agentId": task.to_string() }))
}

async fn progress(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let id = text(params, "id")?;
    if let Some(errand) = client_tasks::find(session, id).await? {
        return Ok(json!({ "progress": client_tasks::progress(&errand) }));
    }
    let Some(record) = record(session, id).await? else { return Ok(json!({ "progress": null })) };
    Ok(json!({ "progress": match record.task.kind {
        Kind::Shell => json!({ "type": "shell", "recentOutput": output::printed(session, record.task.id).await? }),
        Kind::Main | Kind::Agent => view::progress(&record),
    }}))
}

async fn record(session: &Held, id: &str) -> Result<Option<TaskRecord>, ErrorObject> {
    let Ok(task) = id.parse::<TaskId>() else { return Ok(None) };
    match session.call(Method::TasksGet, TaskParams { task }).await {
        Ok(record) => Ok(Some(record)),
        Err(error) if is_refusal(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn send(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let message = SendParams {
        task: Some(named(params)?),
        text: text(params, "message")?.to_owned(),
        images: Vec::new(),
        delivery: Delivery::Steer,
        display: None,
    };
    session.take_up().await?;
    let sent: Result<Value, _> = session.call(Method::SessionSend, message).await;
    match sent {
        Ok(_receipt) => Ok(json!({ "sent": true })),
        Err(error) if is_refusal(&error) => Ok(json!({ "sent": false, "error": error.message })),
        Err(error) => Err(error),
    }
}

async fn cancel(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    if let Some(errand) = client_tasks::find(session, text(params, "id")?).await? {
        return Ok(json!({ "cancelled": client_tasks::cancel(session, &errand).await? }));
    }
    let stop = StopTaskParams { task: named(params)?, how: Cancel::Abort };
    let stopped: Result<Value, _> = session.call(Method::TasksStop, stop).await;
    Ok(json!({ "cancelled": unless_refused(stopped)? }))
}

async fn remove(session: &Held, params: &Value) -> Result<Value, ErrorObject> {
    let forgotten: Result<Value, _> = match client_tasks::find(session, text(params, "id")?).await? {
        Some(errand) => session.call(Method::ErrandsForget, ErrandIdParams { id: errand.id }).await,
        None => session.call(Method::TasksForget, TaskParams { task: named(params)? }).await,
    };
    Ok(json!({ "removed": unless_refused(forgotten)? }))
}

/// The task that the session's own agent waits for, the newest of them.
async fn promotable(session: &Held) -> Result<Option<TaskView>, ErrorObject> {
    Ok(below_root(session).await?.into_iter().rev().find(view::is_promotable))
}

async fn promote_current(session: &Held) -> Result<Value, ErrorObject> {
    let Some(TaskView { id: task, .. }) = promotable(session).await? else { return Ok(json!({})) };
    let done: Result<Value, _> = session.call(Method::TasksPromote, TaskParams { task }).await;
    if !unless_refused(done)? {
        return Ok(json!({}));
    }
    let TaskRecord { task, .. } = session.call(Method::TasksGet, TaskParams { task }).await?;
    Ok(json!({ "task": described(session, &task)? }))
}

/// The task that the parameters name.
fn named(params: &Value) -> Result<TaskId, ErrorObject> {
    let id = text(params, "id")?;
    id.parse().map_err(|_| ErrorObject::internal(format!("Task not found: {id}")))
}

/// Whether something was done; what the session refused was not.
fn unless_refused(done: Result<Value, ErrorObject>) -> Result<bool, ErrorObject> {
    match done {
        Ok(_) => Ok(true),
        Err(error) if is_refusal(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_refusal(error: &ErrorObject) -> bool {
    let kind = error.data.as_ref().map(|data| data["kind"].clone());
    kind.is_some_and(|kind| serde_json::from_value::<RefusalKind>(kind).is_ok())
}
