//! `session.queue.*`: messages that the root has not read yet, and slash commands that wait. A message that was sent cannot
//! be withdrawn or moved.

use protocol::api::{MailState, MailView, Method, TaskParams, TaskRecord, TasksPage, TasksParams};
use protocol::{MailDelivery, Principal, SessionMode};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::unhandled;
use crate::copilot::command_queue::QueuedCommand;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    _params: Value,
) -> Result<Value, ErrorObject> {
    let unread = unread_messages(session).await?;
    let commands = &session.features.commands;
    match method {
        "session.queue.pendingItems" | "session.queue.snapshot" => {
            let (steering, queued): (Vec<_>, Vec<_>) =
                unread.iter().partition(|mail| mail.delivery != MailDelivery::FollowUp);
            let steering: Vec<&str> = steering.iter().map(|mail| mail.text.as_str()).collect();
            let items: Vec<_> =
                queued.into_iter().map(message_item).chain(commands.waiting().iter().map(command_item)).collect();
            Ok(json!({ "items": items, "steeringMessages": steering }))
        }
        "session.queue.hasPending" => Ok(json!({ "hasPending": !unread.is_empty() || !commands.waiting().is_empty() })),
        // Commands come after the messages.
        "session.queue.removeMostRecent" if commands.remove_last() => Ok(json!({ "removed": true })),
        "session.queue.removeMostRecent" if unread.is_empty() => Ok(json!({ "removed": false })),
        "session.queue.clear" if unread.is_empty() => {
            commands.clear();
            Ok(Value::Null)
        }
        "session.queue.removeMostRecent" | "session.queue.clear" => {
            let why = "a message that was sent cannot be withdrawn: stop the session with `session.abort`";
            Err(ErrorObject::internal(why))
        }
        other => Err(unhandled(other)),
    }
}

/// The messages of clients that the root has not read, oldest first.
async fn unread_messages(session: &HostedSession) -> Result<Vec<MailView>, ErrorObject> {
    let TasksPage { tasks, .. } = session.call(Method::TasksList, TasksParams::all_tasks()).await?;
    let Some(root) = tasks.into_iter().find(|task| task.depth == 0) else { return Ok(Vec::new()) };
    let record: TaskRecord = session.call(Method::TasksGet, TaskParams { task: root.id }).await?;
    let is_unread = |mail: &MailView| mail.state == MailState::Admitted && mail.from == Principal::User;
    Ok(record.mail.into_iter().filter(is_unread).collect())
}

fn command_item(command: &QueuedCommand) -> Value {
    json!({
        "id": command.id,
        "kind": "command",
        "displayText": command.text,
        "agentMode": SessionMode::Interactive.as_str(),
    })
}

fn message_item(mail: &MailView) -> Value {
    json!({
        "id": mail.mail.to_string(),
        "kind": "message",
        "displayText": mail.text,
        "agentMode": SessionMode::Interactive.as_str(),
    })
}
