//! `session.commands.*`: slash commands of the session and of its clients.

use std::sync::Arc;
use std::time::Duration;

use protocol::MailDelivery;
use protocol::api::{InvokeSlashParams, InvokeSlashResult, Method, SendParams, SlashKind, SlashList, SlashView};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{optional_text, required_text};
use super::unhandled;
use crate::copilot::command_queue::{QUEUED_EVENT, QueuedCommand};
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &Arc<HostedSession>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.commands.list" => list(session, &params).await,
        "session.commands.invoke" => invoke(session, &params).await,
        "session.commands.handlePendingCommand" => {
            // A command that has timed out or ended is done as well.
            session.commands.answer(required_text(&params, "requestId")?, optional_text(&params, "error"));
            Ok(json!({ "success": true }))
        }
        "session.commands.execute" => execute(session, &params).await,
        "session.commands.enqueue" => enqueue(session, &params),
        "session.commands.respondToQueuedCommand" => {
            let request = required_text(&params, "requestId")?;
            Ok(json!({ "success": session.features.commands.offers.answer(request, params["result"].clone()) }))
        }
        other => Err(unhandled(other)),
    }
}

async fn list(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let SlashList { commands } = session.call(Method::CommandsList, json!({})).await?;
    let is_wanted = |name: &str| params[name] != false;
    let own = commands.iter().filter_map(|command| {
        let (kind, is_included) = match command.kind {
            SlashKind::BuiltIn | SlashKind::File => ("builtin", is_wanted("includeBuiltins")),
            SlashKind::Skill => ("skill", is_wanted("includeSkills")),
            // It works only in a terminal.
            SlashKind::Screen => return None,
        };
        is_included.then(|| command_view(command, kind))
    });
    let clients = if is_wanted("includeClientCommands") { session.commands.list() } else { Vec::new() };
    Ok(json!({ "commands": own.chain(clients).collect::<Vec<_>>() }))
}

fn command_view(command: &SlashView, kind: &str) -> Value {
    let mut view = json!({
        "name": command.name,
        "description": command.description,
        "kind": kind,
        "allowDuringAgentExecution": true,
    });
    if let Some(hint) = &command.hint {
        view["input"] = json!({ "hint": hint });
    }
    view
}

/// Runs a command. A client's command is run by that client, which reports when it is done.
async fn invoke(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let name = required_text(params, "name")?.trim_start_matches('/');
    let input = optional_text(params, "input").unwrap_or_default();
    if session.commands.contains(name) {
        session.commands.run(session, name, input).await?;
        return Ok(json!({ "kind": "completed" }));
    }
    let call = InvokeSlashParams { name: name.to_owned(), input: input.to_owned() };
    let result = match session.call(Method::CommandsInvoke, call).await? {
        // The SDK has no result of its own for a fleet.
        InvokeSlashResult::FleetStarted { message } => InvokeSlashResult::Completed { message, mode: None },
        result => result,
    };
    serde_json::to_value(result).map_err(ErrorObject::internal)
}

/// Runs a command of a client, and reports its error as a result.
async fn execute(session: &HostedSession, params: &Value) -> Result<Value, ErrorObject> {
    let name = required_text(params, "commandName")?.trim_start_matches('/');
    if !session.commands.contains(name) {
        return Ok(json!({ "error": format!("no client has defined the command /{name}") }));
    }
    match session.commands.run(session, name, optional_text(params, "args").unwrap_or_default()).await {
        Ok(()) => Ok(json!({})),
        Err(error) => Ok(json!({ "error": error.in_one_line() })),
    }
}

/// Maximum bytes of a queued command.
const MAX_QUEUED_BYTES: usize = 64 << 10;

/// Queues a slash command: its turn comes after those queued before it, once the session is idle.
fn enqueue(session: &Arc<HostedSession>, params: &Value) -> Result<Value, ErrorObject> {
    let command = required_text(params, "command")?.trim().to_owned();
    if !command.starts_with('/') || command.len() > MAX_QUEUED_BYTES {
        return Err(ErrorObject::bad_params("`command` is not a slash command, such as `/compact`"));
    }
    if !session.features.commands.push(command) {
        return Err(ErrorObject::internal("too many commands are queued: wait for some, or clear the queue"));
    }
    let queued = Arc::clone(session);
    session.features.run_in_background(async move {
        let _turn = queued.features.commands.turn.lock().await;
        queued.wait_until_quiet().await;
        // It may have been removed.
        if let Some(QueuedCommand { text, .. }) = queued.features.commands.take_first() {
            take_turn(&queued, &text).await;
        }
    });
    Ok(json!({ "queued": true }))
}

/// How long a client may take to run a queued command.
const CLIENT_TURN: Duration = Duration::from_secs(600);

/// Has a client run a queued command whose turn has come, or runs it if no client does.
async fn take_turn(session: &HostedSession, command: &str) {
    let queue = &session.features.commands;
    let offer = queue.offers.register();
    let may_answer = queue.has_runner();
    session.emit(QUEUED_EVENT, json!({ "requestId": offer.id(), "command": command }));
    let answer = match may_answer {
        true => tokio::time::timeout(CLIENT_TURN, offer.wait()).await.ok().flatten().unwrap_or_default(),
        false => {
            drop(offer);
            Value::Null
        }
    };
    if answer["handled"] == true {
        if answer["stopProcessingQueue"] == true {
            queue.clear();
        }
        return;
    }
    if let Err(error) = run_queued(session, command).await {
        let message = format!("{command}: {}", error.in_one_line());
        session.emit("session.warning", json!({ "warningType": "command", "message": message }));
    }
}

/// Runs a queued command. What it has for the model is sent, and what it has for people is shown.
async fn run_queued(session: &HostedSession, command: &str) -> Result<(), ErrorObject> {
    let (name, input) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let result = invoke(session, &json!({ "name": name, "input": input.trim() })).await?;
    match result["kind"].as_str() {
        Some("agent-prompt") => {
            let text = result["prompt"].as_str().unwrap_or_default().to_owned();
            let display = result["displayPrompt"].as_str().map(str::to_owned);
            let delivery = MailDelivery::FollowUp;
            let message = SendParams { task: None, text, images: Vec::new(), delivery, display };
            session.call::<Value>(Method::SessionSend, message).await.map(drop)
        }
        Some("text") => {
            session.emit("session.info", json!({ "infoType": "command", "message": result["text"] }));
            Ok(())
        }
        Some(_) | None => Ok(()),
    }
}
