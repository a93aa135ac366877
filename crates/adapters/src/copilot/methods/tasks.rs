//! `session.tasks.*`: the agents and commands of a session, and its external tasks.

pub(super) mod output;
mod view;

use protocol::api::{
    Method, RefusalKind, SendParams, StartAgentParams, StartAgentResult, StopTaskParams, TaskParams, TaskRecord,
    TaskView, TasksPage, TasksParams,
};
use protocol::{CancelMode, MailDelivery, TaskForm, TaskId};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{optional_text, required_text};
use super::unhandled;
use crate::copilot::client_tasks::{self, ClientTask};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// How many tasks are requested at once.
const TASKS_PER_REQUEST: u64 = 1_000;

pub(crate) async fn call(
    connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.tasks.list" => list(session).await,
        "session.tasks.startAgent" => start_agent(session, &params).await,
        "session.tasks.getProgress" => progress(session, &params).await,
        "session.tasks.sendMessage" => send(session, &params).await,
        "session.tasks.cancel" => cancel(session, &params).await,
        "session.tasks.remove" => remove(session, &params).await,
        "session.tasks.promoteToBackground" => {
            let Some(task) = task_param(&params)? else { return Ok(json!({ "promoted": false })) };
            let promoted: Result<Value, _> = session.call(Method::TasksPromote, TaskParams { task }).await;
            Ok(json!({ "promoted": was_performed(promoted)? }))
        }
        "session.tasks.getCurrentPromotable" => match promotable(session).await? {
            Some(task) => Ok(json!({ "task": task_view(session, task).await? })),
            None => Ok(json!({})),
        },
        "session.tasks.promoteCurrentToBackground" => promote_current(session).await,
        "session.tasks.waitForPending" => {
            session.wait_until_quiet().await;
            Ok(json!({}))
        }
        // Lists are always current.
        "session.tasks.refresh" => Ok(json!({})),
        "session.tasks.readOutput" => output::read(session, &params).await,
        "session.tasks.register" => client_tasks::register(session, connection.peer(), &params).await,
        "session.tasks.update" => client_tasks::update(session, &connection.peer(), &params).await,
        other => Err(unhandled(other)),
    }
}

async fn list(session: &HostedSession) -> Result<Value, ErrorObject> {
    Ok(json!({ "tasks": task_views(session, below_root(session).await?).await? }))
}

/// Every task except the root.
pub(crate) async fn below_root(session: &HostedSession) -> Result<Vec<TaskView>, ErrorObject> {
    let (mut all, mut offset) = (Vec::new(), 0);
    loop {
        let query = TasksParams { offset, limit: Some(TASKS_PER_REQUEST), ..TasksParams::default() };
        let TasksPage { tasks, total } = session.call(Method::TasksList, query).await?;
        let is_last = tasks.is_empty();
        offset += tasks.len() as u64;
        all.extend(tasks.into_iter().filter(|task| !task.kind.is_root()));
        if is_last || offset >= total {
            return Ok(all);
        }
    }
}

/// The tasks as clients see them, with the calls that started them.
async fn task_views(session: &HostedSession, tasks: Vec<TaskView>) -> Result<Vec<Value>, ErrorObject> {
    let views = session.handle().read(move |session| {
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
        let calls = session.starting_calls(&ids)?;
        Ok(tasks.iter().zip(calls).map(|(task, call)| view::task_json(task, call.as_ref())).collect())
    });
    Ok(views.await?)
}

/// One task as clients see it.
async fn task_view(session: &HostedSession, task: TaskView) -> Result<Option<Value>, ErrorObject> {
    Ok(task_views(session, vec![task]).await?.pop())
}

async fn start_agent(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let agent = StartAgentParams {
        agent: required_text(params, "agentType")?.to_owned(),
        prompt: required_text(params, "prompt")?.to_owned(),
        name: optional_text(params, "name").map(str::to_owned),
        description: optional_text(params, "description").map(str::to_owned),
        model: optional_text(params, "model").map(str::to_owned),
    };
    session.resume_unfinished().await?;
    let StartAgentResult { task } = session.call(Method::AgentsStart, agent).await?;
    Ok(json!({ "agentId": task.to_string() }))
}

async fn progress(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let id = required_text(params, "id")?;
    if let Some(task) = client_tasks::find(session, id).await? {
        return Ok(json!({ "progress": ClientTask::of(&task).map(client_tasks::progress_view) }));
    }
    let Some(record) = task_record(session, id).await? else { return Ok(json!({ "progress": null })) };
    Ok(json!({ "progress": match record.task.kind.form() {
        TaskForm::Command => json!({ "type": "shell", "recentOutput": output::task_output(session, record.task.id).await? }),
        TaskForm::Agent | TaskForm::Question => view::progress(&record),
        TaskForm::Reported => match ClientTask::of(&record.task) {
            Some(client_task) => client_tasks::progress_view(client_task),
            None => view::progress(&record),
        },
    }}))
}

pub(super) async fn task_record(session: &HostedSession, id: &str) -> Result<Option<TaskRecord>, ErrorObject> {
    let Ok(task) = id.parse::<TaskId>() else { return Ok(None) };
    match session.call(Method::TasksGet, TaskParams { task }).await {
        Ok(record) => Ok(Some(record)),
        Err(error) if is_refusal(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn send(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let Some(task) = task_param(params)? else {
        let error = format!("Task not found: {}", required_text(params, "id")?);
        return Ok(json!({ "sent": false, "error": error }));
    };
    let message = SendParams {
        task: Some(task),
        text: required_text(params, "message")?.to_owned(),
        images: Vec::new(),
        delivery: MailDelivery::Steer,
        display: None,
    };
    session.resume_unfinished().await?;
    let sent: Result<Value, _> = session.call(Method::SessionSend, message).await;
    match sent {
        Ok(_receipt) => Ok(json!({ "sent": true })),
        Err(error) if is_refusal(&error) => Ok(json!({ "sent": false, "error": error.in_one_line() })),
        Err(error) => Err(error),
    }
}

async fn cancel(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let found = client_tasks::find(session, required_text(params, "id")?).await?;
    if let Some(client_task) = found.as_ref().and_then(ClientTask::of) {
        return Ok(json!({ "cancelled": client_tasks::cancel(session, client_task).await? }));
    }
    let Some(task) = task_param(params)? else { return Ok(json!({ "cancelled": false })) };
    Ok(json!({ "cancelled": stop(session, task).await? }))
}

async fn remove(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let task = match client_tasks::find(session, required_text(params, "id")?).await? {
        Some(TaskView { id, .. }) => Some(id),
        None => task_param(params)?,
    };
    let Some(task) = task else { return Ok(json!({ "removed": false })) };
    let removed: Result<Value, _> = session.call(Method::TasksForget, TaskParams { task }).await;
    Ok(json!({ "removed": was_performed(removed)? }))
}

/// The newest task that the root waits for.
async fn promotable(session: &HostedSession) -> Result<Option<TaskView>, ErrorObject> {
    Ok(below_root(session).await?.into_iter().rev().find(view::is_promotable))
}

async fn promote_current(session: &HostedSession) -> Result<Value, ErrorObject> {
    let Some(TaskView { id: task, .. }) = promotable(session).await? else { return Ok(json!({})) };
    let promoted: Result<Value, _> = session.call(Method::TasksPromote, TaskParams { task }).await;
    if !was_performed(promoted)? {
        return Ok(json!({}));
    }
    let TaskRecord { task, .. } = session.call(Method::TasksGet, TaskParams { task }).await?;
    Ok(json!({ "task": task_view(session, task).await? }))
}

/// The task id in the parameters; none if no task can have it.
fn task_param(params: &Value) -> Result<Option<TaskId>, ErrorObject> {
    Ok(required_text(params, "id")?.parse().ok())
}

/// Stops a task; returns whether there was one to stop.
pub(super) async fn stop(session: &HostedSession, task: TaskId) -> Result<bool, ErrorObject> {
    let stop = StopTaskParams { task, how: CancelMode::Abort };
    was_performed(session.call(Method::TasksStop, stop).await)
}

/// Whether a call was performed; `false` if the session refused it.
fn was_performed(result: Result<Value, ErrorObject>) -> Result<bool, ErrorObject> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if is_refusal(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_refusal(error: &ErrorObject) -> bool {
    let kind = error.data.as_ref().map(|data| data["kind"].clone());
    kind.is_some_and(|kind| serde_json::from_value::<RefusalKind>(kind).is_ok())
}
