//! `session.send` and the other methods directly below `session`.

use protocol::api::{Method, ModeParams, SendParams, SendResult, StopTaskParams, TaskView, TasksPage, TasksParams};
use protocol::{CancelMode, MailDelivery, MailId, SessionMode, TaskStatus};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::attachments::{Attachments, shown_attachments};
use super::{lifecycle, request_headers, unhandled};
use crate::copilot::client_events::{self, message_key};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::{ClientNotice, HostedSession};
use crate::copilot::idle::IdleReport;
use crate::copilot::option_table::message_options_without_effect;

pub(crate) async fn call(
    connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.send" => {
            let mail = send(session, &params).await?;
            Ok(json!({ "messageId": mail.to_string() }))
        }
        "session.sendAndWait" => send_and_wait(connection, session, &params).await,
        "session.abort" => {
            abort(session).await?;
            Ok(json!({ "success": true }))
        }
        "session.interruptMainTurn" => {
            let interrupted = session.call::<Value>(Method::SessionInterrupt, json!({})).await.is_ok();
            Ok(json!({ "interrupted": interrupted }))
        }
        "session.cancelAllBackgroundAgents" => cancel_all(session).await,
        "session.log" => log(session, &params).await,
        "session.suspend" => lifecycle::suspend(session).await,
        "session.shutdown" => lifecycle::shut_down(session, &params).await,
        other => Err(unhandled(other)),
    }
}

/// Sends the client's message to the root.
async fn send(session: &HostedSession, params: &Value) -> Result<MailId, ErrorObject> {
    if let Some(mode) = requested_mode(&params["agentMode"]) {
        let current: ModeParams = session.call(Method::ModeGet, json!({})).await?;
        if current.mode != mode {
            session.call::<Value>(Method::ModeSet, ModeParams { mode }).await?;
        }
    }
    let headers = request_headers::read(&params["requestHeaders"])?;
    session.resume_unfinished().await?;
    session.add_notices(message_options_without_effect(params).into_iter().map(ClientNotice::unsupported));
    session.send_notices();
    session.set_turn_headers(headers)?;
    let message = send_params(params).await?;
    let attached = shown_attachments(&params["attachments"]);
    if attached.is_empty() {
        let receipt: SendResult = session.call(Method::SessionSend, message).await?;
        return Ok(receipt.mail);
    }
    let _attaching = session.attaching.write().await;
    let receipt: SendResult = session.call(Method::SessionSend, message).await?;
    let fields = client_events::fields_of(json!({ "attachments": attached }));
    if let Err(error) = session.client_events.add_fields(message_key(&receipt.mail.to_string()), fields) {
        tracing::warn!(%error, "the attachments of a message are not stored");
    }
    Ok(receipt.mail)
}

/// The requested mode; `None` for modes that Bosun does not have, which change nothing.
fn requested_mode(name: &Value) -> Option<SessionMode> {
    SessionMode::ALL.into_iter().find(|mode| name.as_str() == Some(mode.to_string().as_str()))
}

async fn send_params(params: &Value) -> Result<SendParams, ErrorObject> {
    let prompt = params["prompt"].as_str().ok_or_else(|| ErrorObject::bad_params("`prompt` is missing"))?;
    let Attachments { text: attached, images } = Attachments::read(&params["attachments"]).await?;
    let mut text = format!("{prompt}{attached}");
    if let Some(schema) = params["responseFormat"]["jsonSchema"].get("schema") {
        text.push_str(&format!(
            "\n\nAnswer with one JSON value that matches this JSON Schema, and nothing else:\n{schema}"
        ));
    }
    let visible = params["displayPrompt"].as_str().unwrap_or(prompt);
    let display = (visible != text).then(|| visible.to_owned());
    Ok(SendParams { task: None, text, images, delivery: delivery(params["mode"].as_str()), display })
}

/// Sends the client's message, and waits until all work that follows from it is done.
async fn send_and_wait(
    connection: &CopilotConnection,
    session: &HostedSession,
    params: &Value,
) -> Result<Value, ErrorObject> {
    let reports = connection.idle_reports(session.id());
    let mut reports = reports.ok_or_else(|| ErrorObject::internal("the client has left the session"))?;
    let mail = send(session, params).await?;
    let report = reports.wait_for(|report| report.last_mail >= Some(mail)).await;
    let IdleReport { event, last_message, error, aborted, .. } =
        report.map_err(|_| ErrorObject::internal("the client left the session before it became idle"))?.clone();
    let event = event.map(|event| event["id"].clone());
    match error {
        Some(message) => {
            let error = ErrorObject::internal(message);
            Err(ErrorObject { data: Some(json!({ "completionEventId": event })), ..error })
        }
        None => Ok(json!({ "completionEventId": event, "response": last_message, "aborted": aborted })),
    }
}

/// Stops all running work; the session stays open, and the next message is answered.
async fn abort(session: &HostedSession) -> Result<(), ErrorObject> {
    let method = match running_tasks(session).await?.is_empty() {
        true => Method::SessionInterrupt,
        false => Method::SessionStop,
    };
    session.call::<Value>(method, json!({})).await.map(drop)
}

/// The running tasks that the root started.
async fn running_tasks(session: &HostedSession) -> Result<Vec<TaskView>, ErrorObject> {
    let TasksPage { mut tasks, .. } = session.call(Method::TasksList, TasksParams::all_tasks()).await?;
    tasks.retain(|task| task.depth == 1 && task.status == TaskStatus::Running);
    Ok(tasks)
}

async fn cancel_all(session: &HostedSession) -> Result<Value, ErrorObject> {
    let mut cancelled = 0;
    for task in running_tasks(session).await?.into_iter().filter(|task| task.kind.is_subagent()) {
        let stop = StopTaskParams { task: task.id, how: CancelMode::Abort };
        cancelled += u64::from(session.call::<Value>(Method::TasksStop, stop).await.is_ok());
    }
    Ok(cancelled.into())
}

async fn log(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let message = params["message"].as_str().ok_or_else(|| ErrorObject::bad_params("`message` is missing"))?;
    let kind = params["type"].as_str().unwrap_or("notification");
    let (event, mut content) = match params["level"].as_str() {
        Some("error") => ("session.error", json!({ "errorType": kind, "message": message })),
        Some("warning") => ("session.warning", json!({ "warningType": kind, "message": message })),
        _info => ("session.info", json!({ "infoType": kind, "message": message })),
    };
    for name in ["url", "tip"] {
        if let Some(text) = params[name].as_str() {
            content[name] = text.into();
        }
    }
    let id = match params["ephemeral"] == true {
        true => session.emit(event, content),
        false => session.record(event, content).await?,
    };
    Ok(json!({ "eventId": id.to_string() }))
}

/// When a client's message is delivered.
fn delivery(mode: Option<&str>) -> MailDelivery {
    match mode {
        Some("immediate") => MailDelivery::Steer,
        _enqueue => MailDelivery::FollowUp,
    }
}
