//! `session.send` and what else has one word after `session`.

use protocol::api::{Method, ModeParams, SendParams, SendResult, StopTaskParams, TaskView, TasksPage, TasksParams};
use protocol::{CancelMode, MailDelivery, MailId, SessionMode, TaskStatus, TaskType};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::attachments::Attachments;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::idle::IdleReport;

pub(crate) async fn call(
    visit: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.send" => {
            let mail = send(session, &params).await?;
            Ok(json!({ "messageId": mail.to_string() }))
        }
        "session.sendAndWait" => send_and_wait(visit, session, &params).await,
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
        other => Err(unhandled(other)),
    }
}

/// Sends the client's words to the session's own agent.
async fn send(session: &HostedSession, params: &Value) -> Result<MailId, ErrorObject> {
    if let Some(mode) = mode(&params["agentMode"]) {
        let now: ModeParams = session.call(Method::ModeGet, json!({})).await?;
        if now.mode != mode {
            session.call::<Value>(Method::ModeSet, ModeParams { mode }).await?;
        }
    }
    session.resume_unfinished().await?;
    session.send_notices();
    let receipt: SendResult = session.call(Method::SessionSend, message(params).await?).await?;
    Ok(receipt.mail)
}

/// The mode that is meant; a mode that Bosun does not have changes nothing.
fn mode(word: &Value) -> Option<SessionMode> {
    SessionMode::ALL.into_iter().find(|mode| word.as_str() == Some(mode.to_string().as_str()))
}

async fn message(params: &Value) -> Result<SendParams, ErrorObject> {
    let prompt = params["prompt"].as_str().ok_or_else(|| ErrorObject::bad_params("`prompt` is missing"))?;
    let Attachments { text: words, images } = Attachments::read(&params["attachments"]).await?;
    let mut text = format!("{prompt}{words}");
    if let Some(schema) = params["responseFormat"]["jsonSchema"].get("schema") {
        text.push_str(&format!(
            "\n\nAnswer with one JSON value and nothing else. It satisfies this JSON Schema:\n{schema}"
        ));
    }
    let shown = params["displayPrompt"].as_str().unwrap_or(prompt);
    let display = (shown != text).then(|| shown.to_owned());
    Ok(SendParams { task: None, text, images, delivery: delivery(params["mode"].as_str()), display })
}

/// Sends the client's words and waits until everything that follows from them is over.
async fn send_and_wait(
    visit: &CopilotConnection,
    session: &HostedSession,
    params: &Value,
) -> Result<Value, ErrorObject> {
    let mut rests = visit.idle_reports(session.id()).ok_or_else(|| ErrorObject::internal("the session was left"))?;
    let mail = send(session, params).await?;
    let rested = rests.wait_for(|rest| rest.mail >= Some(mail)).await;
    let IdleReport { event, last_message: said, error, aborted, .. } =
        rested.map_err(|_| ErrorObject::internal("the session was left before it came to rest"))?.clone();
    let event = event.map(|event| event["id"].clone());
    match error {
        Some(message) => {
            let error = ErrorObject::internal(message);
            Err(ErrorObject { data: Some(json!({ "completionEventId": event })), ..error })
        }
        None => Ok(json!({ "completionEventId": event, "response": said, "aborted": aborted })),
    }
}

/// Stops everything that is under way; the session stays, and the next message is answered.
async fn abort(session: &HostedSession) -> Result<(), ErrorObject> {
    let method = match running_tasks(session, None).await?.is_empty() {
        true => Method::SessionInterrupt,
        false => Method::SessionStop,
    };
    session.call::<Value>(method, json!({})).await.map(drop)
}

/// What the session's own agent started and what is at work: all of it, or of one kind.
async fn running_tasks(session: &HostedSession, kind: Option<TaskType>) -> Result<Vec<TaskView>, ErrorObject> {
    let wanted = TasksParams { kind, limit: Some(1000), ..TasksParams::default() };
    let TasksPage { mut tasks, .. } = session.call(Method::TasksList, wanted).await?;
    tasks.retain(|task| task.depth == 1 && task.status == TaskStatus::Running);
    Ok(tasks)
}

async fn cancel_all(session: &HostedSession) -> Result<Value, ErrorObject> {
    let mut cancelled = 0;
    for task in running_tasks(session, Some(TaskType::Agent)).await? {
        let stop = StopTaskParams { task: task.id, how: CancelMode::Abort };
        cancelled += u64::from(session.call::<Value>(Method::TasksStop, stop).await.is_ok());
    }
    Ok(cancelled.into())
}

async fn log(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let message = params["message"].as_str().ok_or_else(|| ErrorObject::bad_params("`message` is missing"))?;
    let kind = params["type"].as_str().unwrap_or("log");
    let id = match params["level"].as_str() {
        Some("error") => session.emit("session.error", json!({ "errorType": kind, "message": message })),
        Some("warning") => session.emit("session.warning", json!({ "warningType": kind, "message": message })),
        _info => session.emit("session.info", json!({ "infoType": kind, "message": message })),
    };
    Ok(json!({ "eventId": id.to_string() }))
}

/// When a client's message is read.
fn delivery(mode: Option<&str>) -> MailDelivery {
    match mode {
        Some("immediate") => MailDelivery::Steer,
        _enqueue => MailDelivery::FollowUp,
    }
}
